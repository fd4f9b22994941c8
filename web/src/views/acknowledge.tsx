// "I have seen it": a name and a note, kept by the collector with the regression.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, post } from "../api/client";
import type { Regression, Status } from "../api/types";
import { invalidate, useApi } from "../api/use_api";
import { componentWords } from "../model/buckets";
import { keyText } from "../model/format";
import { say } from "../ui/announce";

const NAME_KEY = "headway-name";
const NAME_MAX = 80;
const NOTE_MAX = 400;

/** Not for who may only read: the collector would refuse. */
export function AcknowledgeButton(props: {
  regression: Regression;
  ask: (one: Regression) => void;
}) {
  const status = useApi<Status>("/api/v1/status");
  const { regression, ask } = props;
  if (regression.state !== "open" || status.data?.role === "read") return null;
  const name = `Acknowledge ${componentWords(regression.component, regression.label)}`;
  return (
    <button type="button" aria-label={name} onClick={() => ask(regression)}>
      Acknowledge
    </button>
  );
}

export function AcknowledgeDialog(props: { regression: Regression; close: () => void }) {
  const { regression, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [by, setBy] = useState(localStorage.getItem(NAME_KEY) ?? "");
  const [note, setNote] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);

  const send = async (): Promise<void> => {
    setBusy(true);
    try {
      const id = encodeURIComponent(regression.id);
      await post<Regression>(`/api/v1/regressions/${id}/acknowledge`, { by: by.trim(), note });
      localStorage.setItem(NAME_KEY, by.trim());
      invalidate("/api/v1/regressions");
      say("Acknowledged");
      dialog.current?.close();
    } catch (failure) {
      setBusy(false);
      const known = failure instanceof ApiError ? failure : null;
      const role = known?.status === 403 ? " A token of role admin may." : "";
      setError(`${known?.message ?? String(failure)}${role}`);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="acknowledge-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <h2 id="acknowledge-title">
          Acknowledge: {componentWords(regression.component, regression.label)}
        </h2>
        <p class="muted">
          {keyText(regression.stratum)}. It leaves the open list and stays on record until it is
          gone.
        </p>
        <label>
          Your name
          <input
            required
            maxLength={NAME_MAX}
            value={by}
            onInput={(event) => setBy(event.currentTarget.value)}
          />
        </label>
        <label>
          Note: what you know, or will do
          <textarea
            maxLength={NOTE_MAX}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
          />
        </label>
        {error && (
          <p class="bad" role="alert">
            {error}
          </p>
        )}
        <div class="row-end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy || by.trim() === ""}>
            Acknowledge
          </button>
        </div>
      </form>
    </dialog>
  );
}

// Asked when the collector takes no question without one, or not with the one that it got.

import { useEffect, useRef, useState } from "preact/hooks";
import { giveToken, onToken, token, tokenRefusal, tokenWanted } from "../api/token";

export function TokenDialog() {
  const [wanted, setWanted] = useState(tokenWanted());
  useEffect(() => {
    const heard = (): void => setWanted(tokenWanted());
    heard();
    return onToken(heard);
  }, []);
  return wanted ? <Asking /> : null;
}

function Asking() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="token-title" onCancel={(event) => event.preventDefault()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) giveToken(text);
        }}
      >
        <h2 id="token-title">This collector wants a token</h2>
        {token() && (
          <p class="bad" role="alert">
            The one that was given is not accepted: {tokenRefusal() || "it was refused"}.
          </p>
        )}
        <p class="muted">
          One of role read will do; who runs the collector makes it with{" "}
          <code>headway serve token add --role read</code>. It stays in this tab.
        </p>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            required
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="row-end">
          <button type="submit" class="primary">
            Continue
          </button>
        </div>
      </form>
    </dialog>
  );
}

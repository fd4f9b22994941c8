// What to do about this job, the most useful first.

import { useState } from "preact/hooks";
import type { Advice } from "../../api/types";
import { useApi } from "../../api/use_api";
import { percent } from "../../model/format";
import { apiPath } from "../../state/fleet_state";
import { Panel } from "../../ui/panel";
import { Words } from "../../ui/words";

const SHOWN = 3;

export function AdvicePanel({ job }: { job: string }) {
  const [all, setAll] = useState(false);
  const answer = useApi<Advice>(apiPath(`/jobs/${encodeURIComponent(job)}/advice`, {}));
  return (
    <Panel
      id="advice"
      class="w4"
      title="What to do"
      answer={answer}
      empty={(data) => (data.advice.length ? null : "Nothing that would pay.")}
    >
      {(data) => (
        <>
          <ol class="advice-list">
            {data.advice.slice(0, all ? undefined : SHOWN).map((one) => (
              <li key={one.title}>
                <b>{one.title}</b>
                {one.saves_pct !== null && (
                  <span class="badge good">up to {percent(one.saves_pct)} of the time</span>
                )}
                <p>
                  <Words text={one.text} />
                </p>
              </li>
            ))}
          </ol>
          {data.advice.length > SHOWN && (
            <button type="button" class="quiet" onClick={() => setAll(!all)}>
              {all ? "Show fewer" : `${data.advice.length - SHOWN} more`}
            </button>
          )}
        </>
      )}
    </Panel>
  );
}

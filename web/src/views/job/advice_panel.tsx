// What to do about this job, the most useful first.

import type { Advice } from "../../api/types";
import { useApi } from "../../api/use_api";
import { percent } from "../../model/format";
import { apiPath } from "../../state/fleet_state";
import { Panel } from "../../ui/panel";
import { Words } from "../../ui/words";

export function AdvicePanel({ job }: { job: string }) {
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
        <ol class="advice-list">
          {data.advice.map((one) => (
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
      )}
    </Panel>
  );
}

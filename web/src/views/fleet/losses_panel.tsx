// Where the fleet loses its hours: ranked, each with what to do about it.

import { useState } from "preact/hooks";
import type { Loss, Losses } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { bucketLabel, groupColor, groupLabel } from "../../model/buckets";
import { attemptText, count, deviceHours, percent } from "../../model/format";
import { Swatch } from "../../ui/controls";
import { Panel } from "../../ui/panel";
import { Words } from "../../ui/words";

const SHOWN = 7;
const ADVISED = 2;

export function LossesPanel({ losses }: { losses: Answer<Losses> }) {
  const [all, setAll] = useState(false);
  return (
    <Panel
      id="losses"
      class="w4"
      title="Where the fleet loses its hours"
      answer={losses}
      empty={(data) => (data.losses.length ? null : "No device-hours were lost in this period.")}
      rows={10}
      table={(data) => <LossTable losses={data.losses} />}
    >
      {(data) => {
        const largest = data.losses[0]?.device_hours ?? 1;
        const shown = all ? data.losses : data.losses.slice(0, SHOWN);
        return (
          <>
            <ol class="bars">
              {shown.map((loss, i) => (
                <LossBar key={loss.bucket} loss={loss} largest={largest} advised={i < ADVISED} />
              ))}
            </ol>
            {data.losses.length > SHOWN && (
              <button type="button" class="quiet" onClick={() => setAll(!all)}>
                {all ? "Show fewer" : `${data.losses.length - SHOWN} smaller losses`}
              </button>
            )}
          </>
        );
      }}
    </Panel>
  );
}

function LossBar({ loss, largest, advised }: { loss: Loss; largest: number; advised: boolean }) {
  const worst = loss.worst[0];
  return (
    <li>
      <span class="name" title={`${loss.label} (${groupLabel(loss.group)})`}>
        {bucketLabel(loss.bucket)}
      </span>
      <span class="track" aria-hidden="true">
        <i
          style={{
            width: `${(100 * loss.device_hours) / largest}%`,
            background: groupColor(loss.group),
          }}
        />
      </span>
      <span class="num" title="device-hours">
        {deviceHours(loss.device_hours)}
        <span class="hidden"> device-hours</span>
      </span>
      <span class="num muted">{percent(loss.share_pct)}</span>
      {advised && (
        <span class="advice">
          <Words text={loss.advice} />
          {worst && (
            <>
              {" "}
              Worst:{" "}
              <a href={`#/job/${encodeURIComponent(worst.job)}?attempt=${worst.attempt}`}>
                {worst.job}
              </a>
              .
            </>
          )}
        </span>
      )}
    </li>
  );
}

function LossTable({ losses }: { losses: readonly Loss[] }) {
  return (
    <table>
      <caption class="hidden">Losses, the largest first</caption>
      <thead>
        <tr>
          <th scope="col">Loss</th>
          <th scope="col" class="num">
            Device-hours
          </th>
          <th scope="col" class="num">
            Share
          </th>
          <th scope="col" class="num">
            Attempts
          </th>
          <th scope="col">Worst</th>
        </tr>
      </thead>
      <tbody>
        {losses.map((loss) => (
          <tr key={loss.bucket}>
            <th scope="row" class="nowrap">
              <Swatch color={groupColor(loss.group)} />
              {bucketLabel(loss.bucket)}
            </th>
            <td class="num">{deviceHours(loss.device_hours)}</td>
            <td class="num">{percent(loss.share_pct)}</td>
            <td class="num">{count(loss.attempts)}</td>
            <td class="nowrap">
              {loss.worst.slice(0, 2).map((one) => (
                <div key={`${one.job}/${one.attempt}`}>
                  <a href={`#/job/${encodeURIComponent(one.job)}?attempt=${one.attempt}`}>
                    {one.job} #{attemptText(one.attempt)}
                  </a>
                </div>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

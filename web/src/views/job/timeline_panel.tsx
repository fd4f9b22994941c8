// The timeline in its panel, with the attempts as its table.

import type { Report } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { GroupLegend } from "../../charts/stack";
import { TimelineStage, useTimeline } from "../../timeline/timeline";
import type { Layer } from "../../timeline/lanes";
import { useAddress } from "../../state/address";
import { first } from "../../state/query";
import { Panel } from "../../ui/panel";
import { AttemptTable } from "./attempts_panel";

interface Props {
  job: string;
  answer: Answer<Report>;
}

/** Other ranks are another timeline; the window is in the address. */
export function TimelinePanel(props: Props) {
  const ranks = first(useAddress().query, "ranks");
  return <OfRanks key={ranks ?? ""} ranks={ranks} {...props} />;
}

function OfRanks({ job, answer, ranks }: Props & { ranks: string | undefined }) {
  const timeline = useTimeline(job, ranks);
  const { source } = timeline;
  const own: Answer<true> = {
    data: true,
    error: source.overview ? source.error : null,
    loading: false,
    changing: false,
    retry: () => source.retry(),
  };
  const blocked = !source.overview && source.error;
  return (
    <Panel
      id="timeline"
      class="w12"
      title="Timeline"
      note="▼ failure or preemption, ❘ checkpoint"
      answer={blocked ? { ...own, data: null, error: source.error } : own}
      empty={() => emptyText(source.overview)}
      table={() =>
        answer.data ? <AttemptTable report={answer.data} /> : <p class="muted">Loading…</p>
      }
    >
      {() => (
        <>
          <TimelineStage timeline={timeline} />
          <div class="under-bar">
            <GroupLegend />
          </div>
        </>
      )}
    </Panel>
  );
}

function emptyText(layer: Layer | null): string | null {
  return layer && layer.lanes.length === 0 ? "No attempt has begun yet." : null;
}

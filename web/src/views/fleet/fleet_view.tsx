// The fleet: what is wrong, how it goes, where the hours are lost, and why.

import type { Dimensions, Losses, Regressions, Rollup } from "../../api/types";
import { useApi } from "../../api/use_api";
import { before } from "../../model/days";
import { useAddress } from "../../state/address";
import { fleetPath, fleetState } from "../../state/fleet_state";
import { Failed } from "../../ui/panel";
import { pinInLinks } from "../../ui/copy_link";
import { CachesPanel } from "./caches_panel";
import { FailuresPanel } from "./failures_panel";
import { FleetControls } from "./fleet_controls";
import { HostsPanel } from "./hosts_panel";
import { LossesPanel } from "./losses_panel";
import { RollupPanel } from "./rollup_panel";
import { Multiples, TrendPanel } from "./trend_panels";
import { VerdictPanel } from "./verdict_panel";
import { WaterfallPanel } from "./waterfall_panel";

export function FleetView() {
  const { query } = useAddress();
  const dimensions = useApi<Dimensions>("/api/v1/fleet/dimensions");
  const state = fleetState(query, dimensions.data?.last_day ?? null);
  const earlier = state.days ? before(state.days) : null;
  const regressions = useApi<Regressions>("/api/v1/regressions?state=all");
  const now = useApi<Rollup>(fleetPath("rollup", state));
  const past = useApi<Rollup>(fleetPath("rollup", state, {}, earlier));
  const losses = useApi<Losses>(fleetPath("losses", state));
  pinInLinks(state.days ? { from: state.days.from, to: state.days.to, period: null } : {});

  if (dimensions.data && dimensions.data.last_day === null && !state.days) return <NoData />;
  return (
    <>
      <h1 class="hidden">Fleet</h1>
      <FleetControls state={state} dimensions={dimensions.data} />
      {dimensions.error && !dimensions.data && (
        <Failed error={dimensions.error} retry={dimensions.retry} />
      )}
      <div class="grid">
        <VerdictPanel
          state={state}
          first_day={dimensions.data?.first_day ?? null}
          regressions={regressions}
          now={now}
          past={past}
          losses={losses}
        />
        <TrendPanel state={state} regressions={regressions.data} />
        <LossesPanel losses={losses} />
        <Multiples state={state} now={now.data?.total ?? null} past={past.data?.total ?? null} />
        <WaterfallPanel state={state} dimensions={dimensions.data} />
        <FailuresPanel state={state} />
        <RollupPanel state={state} />
        <HostsPanel state={state} />
        <CachesPanel state={state} />
      </div>
    </>
  );
}

function NoData() {
  return (
    <>
      <h1>Fleet</h1>
      <div class="told">
        <p>
          <strong>Nothing has been sent to this collector yet.</strong> Start a job that does:
        </p>
        <code>headway run --collector {location.origin} train.py</code>
        <p>Or send what one has recorded, and go on while it runs:</p>
        <code>headway ship JOB --to {location.origin} --follow</code>
      </div>
    </>
  );
}

// The page: bar, view, and what lies over them.

import { useEffect, useRef } from "preact/hooks";
import { useAddress } from "./state/address";
import { Announcer } from "./ui/announce";
import { FleetView } from "./views/fleet/fleet_view";
import { JobView } from "./views/job/job_view";
import { JobsView } from "./views/jobs_view";
import { RegressionsView } from "./views/regressions_view";
import { TokenDialog } from "./views/token_dialog";
import { TopBar } from "./views/topbar";

const titles = { fleet: "Fleet", regressions: "Regressions", jobs: "Jobs", job: "" };

export function App() {
  const { view, job, unknown } = useAddress();
  const main = useRef<HTMLElement>(null);
  const shown = useRef("");
  useEffect(() => {
    document.title = `${view === "job" ? job : titles[view]} · Headway`;
    const place = `${view}/${job}`;
    // Where another view is opened, reading goes on at its beginning.
    if (shown.current && shown.current !== place) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    shown.current = place;
  }, [view, job]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <TopBar view={view} />
      <main id="main" ref={main} tabIndex={-1}>
        {unknown !== undefined && (
          <p class="stale" role="status">
            There is no view “{unknown}” here; this is the fleet.
          </p>
        )}
        {view === "fleet" && <FleetView />}
        {view === "regressions" && <RegressionsView />}
        {view === "jobs" && <JobsView />}
        {view === "job" && <JobView key={job} job={job} />}
      </main>
      <TokenDialog />
      <Announcer />
    </>
  );
}

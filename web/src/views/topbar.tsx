// The bar above every view: where one is, how the collector is, the theme.

import { useEffect, useRef, useState } from "preact/hooks";
import { connectionState, onConnection } from "../api/live";
import type { Regressions, Status } from "../api/types";
import { useApi } from "../api/use_api";
import icon from "../icon.svg";
import { setClock } from "../model/clock";
import { count } from "../model/format";
import type { View } from "../state/query";
import { setTheme, theme, THEMES } from "../state/theme";
import { Select } from "../ui/controls";

const VIEWS: { view: View; label: string }[] = [
  { view: "fleet", label: "Fleet" },
  { view: "regressions", label: "Regressions" },
  { view: "jobs", label: "Jobs" },
];

export function TopBar({ view }: { view: View }) {
  const status = useApi<Status>("/api/v1/status");
  const regressions = useApi<Regressions>("/api/v1/regressions?state=all");
  const clocked = useRef<Status | null>(null);
  const open = regressions.data?.regressions.filter((one) => one.state === "open").length ?? 0;
  if (status.data && status.data !== clocked.current) {
    clocked.current = status.data;
    setClock(status.data.now_ns, Date.now());
  }
  const at = view === "job" ? "jobs" : view;
  return (
    <header class="topbar">
      <a class="brand" href="#/fleet">
        <img src={icon} alt="" />
        Headway
      </a>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map((one) => (
            <li key={one.view}>
              <a href={`#/${one.view}`} aria-current={one.view === at ? "page" : undefined}>
                {one.label}
                {one.view === "regressions" && open > 0 && (
                  <span class="count">
                    {open}
                    <span class="hidden"> open</span>
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="status">
        {status.data?.demo && <span class="badge warn">demo data</span>}
        {status.data && (
          <span
            class="wide-only"
            title={`store ${status.data.store}, tenant ${status.data.tenant}`}
          >
            {count(status.data.jobs_running)} of {count(status.data.jobs)} jobs running · v
            {status.data.version}
          </span>
        )}
        <LiveIndicator />
        <ThemeSelect />
      </div>
    </header>
  );
}

const words = { connecting: "connecting", live: "live", offline: "offline" };

function LiveIndicator() {
  const [state, set] = useState(connectionState());
  useEffect(() => {
    const heard = (): void => set(connectionState());
    heard();
    return onConnection(heard);
  }, []);
  const since = new Date(state.since_ms);
  const clock = `${String(since.getHours()).padStart(2, "0")}:${String(since.getMinutes()).padStart(2, "0")}`;
  return (
    <span class="nowrap" role="status" aria-live="polite">
      <i class={`dot ${state.connection}`} aria-hidden="true" /> {words[state.connection]}
      {state.connection === "offline" && <span class="wide-only"> since {clock}</span>}
    </span>
  );
}

function ThemeSelect() {
  const [value, set] = useState(theme());
  return (
    <Select
      quiet
      label="Theme"
      value={value}
      options={THEMES.map((one) => ({ value: one, label: one }))}
      choose={(next) => {
        const chosen = THEMES.find((one) => one === next) ?? "auto";
        setTheme(chosen);
        set(chosen);
      }}
    />
  );
}

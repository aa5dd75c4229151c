/** Usage page: tokens, cost and time by day, model, project and tool. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { errorMessage } from "@/api/client";
import type { Spent } from "@/api/types";
import { count, duration, money, short } from "@/format/values";
import { PathName } from "@/panels/PathName";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { Page } from "./Page";
import { Bars, type Layer } from "./usage/Bars";
import { dayLabel, everyDay } from "./usage/days";
import { type Column, SpentTable } from "./usage/SpentTable";
import { type Group, useSpending } from "./usage/useSpending";

const RANGES = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
] as const;
type Measure = "cost" | "tokens" | "tools";
const MEASURES = [
  { value: "cost", label: "Cost" },
  { value: "tokens", label: "Tokens" },
  { value: "tools", label: "Tool time" },
] as const;
const LAYERS: Record<Measure, Layer[]> = {
  cost: [{ label: "Cost", colour: "fill-accent", box: "bg-accent", of: (spent) => spent.cost }],
  tokens: [
    { label: "Cache read", colour: "fill-accent", box: "bg-accent", of: (spent) => spent.cache_read },
    { label: "Cache write", colour: "fill-done", box: "bg-done", of: (spent) => spent.cache_write },
    { label: "Uncached input", colour: "fill-needs", box: "bg-needs", of: (spent) => spent.input },
    { label: "Output", colour: "fill-ink-3", box: "bg-ink-3", of: (spent) => spent.output },
  ],
  tools: [{ label: "Tool time", colour: "fill-accent", box: "bg-accent", of: (spent) => spent.tool_ms }],
};
const SHOWN: Record<Measure, (value: number) => string> = { cost: money, tokens: short, tools: time };

const TOKENS = (spent: Spent) => spent.input + spent.cache_read + spent.cache_write + spent.output;
const COLUMNS: Column[] = [
  { label: "Cost", of: (spent) => money(spent.cost) },
  { label: "Tokens", of: (spent) => count(TOKENS(spent)) },
  { label: "Cache hit rate", of: (spent) => rate(spent.cache_hit_rate) },
  { label: "Steps", of: (spent) => count(spent.calls) },
  { label: "Tool time", of: (spent) => time(spent.tool_ms) },
  { label: "Sessions", of: (spent) => count(spent.sessions) },
];
const DAY_COLUMNS: Column[] = [
  { label: "Cost", of: (spent) => money(spent.cost) },
  { label: "Uncached input", of: (spent) => count(spent.input) },
  { label: "Cache read", of: (spent) => count(spent.cache_read) },
  { label: "Cache write", of: (spent) => count(spent.cache_write) },
  { label: "Output", of: (spent) => count(spent.output) },
  { label: "Tool time", of: (spent) => time(spent.tool_ms) },
];
const TOOL_COLUMNS: Column[] = [
  { label: "Time", of: (spent) => time(spent.tool_ms) },
  { label: "Calls", of: (spent) => count(spent.tool_calls) },
  { label: "Avg. time", of: (spent) => time(spent.tool_calls ? spent.tool_ms / spent.tool_calls : 0) },
  { label: "Failed", of: (spent) => count(spent.tool_errors) },
  { label: "Denied", of: (spent) => count(spent.tool_denied) },
];

function time(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)}ms` : duration(milliseconds);
}

function rate(part: number): string {
  return `${Math.round(part * 100)}%`;
}

export function UsagePage() {
  const [range, setRange] = useState<"7" | "30" | "90">("30");
  const days = Number(range);
  const { data, error, refetch } = useSpending("day", days);
  const empty = data && data.total.calls === 0 && data.total.tool_calls === 0;
  return (
    <Page
      title="Usage"
      actions={<SegmentedControl label="Range" value={range} choices={RANGES} onChange={setRange} />}
    >
      {error && !data && (
        <Empty
          title="Usage could not be loaded"
          action={<Button onClick={() => void refetch()}>Try again</Button>}
        >
          {errorMessage(error)}
        </Empty>
      )}
      {empty && (
        <Empty title={`No usage in the last ${days} days`} action={<Link to="/new">New session</Link>}>
          Costs, tokens and the time of tools appear here as sessions run, by day, model, project and tool.
        </Empty>
      )}
      {data && !empty && (
        <div className="flex flex-col gap-8">
          <Totals total={data.total} />
          <ByDay spent={data.groups} days={days} />
          <Grouped
            group="model"
            title="By model"
            days={days}
            columns={COLUMNS}
            weigh={(spent) => spent.cost}
          />
          <Grouped
            group="project"
            title="By project"
            days={days}
            columns={COLUMNS}
            weigh={(spent) => spent.cost}
            name={(spent) => <PathName path={spent.key || "unknown"} />}
          />
          <Grouped
            group="tool"
            title="By tool"
            days={days}
            columns={TOOL_COLUMNS}
            weigh={(spent) => spent.tool_ms}
          />
        </div>
      )}
    </Page>
  );
}

function Totals({ total }: { total: Spent }) {
  const sent = total.input + total.cache_read + total.cache_write;
  return (
    <dl className="m-0 flex flex-wrap gap-x-10 gap-y-3">
      <Figure name="Cost" value={money(total.cost)} />
      <Figure name="Sent" value={`${short(sent)} tokens`} />
      <Figure name="Output" value={`${short(total.output)} tokens`} />
      <Figure name="Cache hit rate" value={rate(total.cache_hit_rate)} />
      <Figure name="Tool time" value={time(total.tool_ms)} />
      <Figure name="Sessions" value={count(total.sessions)} />
    </dl>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt className="text-small text-ink-3">{name}</dt>
      <dd className="tabular m-0 text-[18px] leading-7 font-semibold">{value}</dd>
    </div>
  );
}

function ByDay({ spent, days }: { spent: Spent[]; days: number }) {
  const [chosen, setMeasure] = useState<Measure>();
  // Without costs, show tokens: local models are free.
  const costs = spent.some((each) => LAYERS.cost.some((layer) => layer.of(each) > 0));
  const measure = chosen ?? (costs ? "cost" : "tokens");
  const every = everyDay(spent, days, Date.now());
  const label = MEASURES.find((each) => each.value === measure)?.label ?? "";
  return (
    <section aria-label="By day" className="space-y-2">
      <div className="flex items-center gap-3">
        <h2 className="m-0 flex-1 text-prose font-semibold">By day</h2>
        <SegmentedControl label="Metric" value={measure} choices={MEASURES} onChange={setMeasure} />
      </div>
      <Bars label={`${label} by day`} days={every} layers={LAYERS[measure]} shown={SHOWN[measure]} />
      <details>
        <summary className="text-ink-2">Numbers by day</summary>
        <SpentTable
          label="Numbers by day"
          first="Day (UTC)"
          rows={[...every].reverse()}
          columns={DAY_COLUMNS}
          weigh={(each) => LAYERS[measure].reduce((sum, layer) => sum + layer.of(each), 0)}
          name={(each) => dayLabel(each.key)}
        />
      </details>
    </section>
  );
}

interface GroupedProps {
  group: Group;
  title: string;
  days: number;
  columns: Column[];
  weigh: (spent: Spent) => number;
  name?: (spent: Spent) => ReactNode;
}

function Grouped({ group, title, days, columns, weigh, name }: GroupedProps) {
  const { data, error } = useSpending(group, days);
  return (
    <section aria-label={title} className="space-y-2">
      <h2 className="m-0 text-prose font-semibold">{title}</h2>
      {error && <p className="m-0 text-ink-2">{errorMessage(error)}</p>}
      {data && (
        <SpentTable
          label={title}
          first={group === "tool" ? "Tool" : group === "model" ? "Model" : "Project"}
          rows={data.groups}
          columns={columns}
          weigh={weigh}
          {...(name ? { name } : {})}
        />
      )}
      {data?.groups.length === 0 && <p className="m-0 text-ink-3">No usage in this range.</p>}
    </section>
  );
}

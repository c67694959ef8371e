import type { Enrollment, Sequence } from "@tidings/client";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { invalidate, useList } from "../../../api/queries";
import { useMay } from "../../../api/session";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { EmptyState } from "../../../ui/empty-state";
import { FilterBar, type Filter } from "../../../ui/filter-bar";
import { Problem } from "../../../ui/problem";
import { Status } from "../../../ui/status";
import { type Column, Table } from "../../../ui/table";
import { Time } from "../../../ui/time";
import { toast } from "../../../ui/toast";
import { useQueryValues } from "../../../ui/use-query";
import { changeEnrollments } from "../api";
import { inOrder } from "../model/calendar";
import { stepSummary } from "../model/summary";

const words = text.sequences.enrollments;
const EVERY_MS = 10_000;
export type Asked = "active" | "paused" | "cancelled";
export const ABOUT: Readonly<Record<Asked, string>> = { active: words.resumeAbout, paused: words.pauseAbout, cancelled: words.cancelAbout };

/** Who is or was in it; those who are chosen can be paused, resumed and taken out. */
export function EnrollmentsTab({ sequence, onEnroll }: { sequence: Sequence; onEnroll: () => void }) {
  const canOperate = useMay("operate");
  const filters = useQueryValues(["status", "stepId"]) as { status?: Enrollment["status"]; stepId?: string };
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<Asked | null>(null);
  const list = useList("GET /v1/sequences/{id}/enrollments", { path: { id: sequence.id }, query: filters }, { every: EVERY_MS });
  const chosen = list.rows.filter((row) => selected.has(row.id));
  const enroll = canOperate && sequence.status === "active" && (
    <Button icon={<UserPlus size={15} aria-hidden />} onClick={onEnroll}>
      {text.sequences.enroll}
    </Button>
  );
  const change = async () => {
    const { count } = await changeEnrollments(sequence.id, chosen.map((row) => row.contactId), asked ?? "paused");
    toast(words.changed(count));
    setSelected(new Set());
    await invalidate("/v1/sequences", "/v1/enrollments");
  };
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  return (
    <>
      <FilterBar filters={filtersOf(sequence)}>{chosen.length > 0 && <Chosen count={chosen.length} onAsk={setAsked} />}</FilterBar>
      <Table
        label={text.sequences.tabs.enrollments}
        columns={columnsFor(sequence)}
        rows={list.rows}
        rowKey={(row) => row.id}
        rowName={nameOf}
        href={(row) => `/sequences/${sequence.id}/enrollments/${row.id}`}
        isLoading={list.isLoading}
        more={list.more}
        maxHeight={640}
        {...(canOperate ? { selection: { selected, onChange: setSelected } } : {})}
        empty={Object.keys(filters).length ? <EmptyState title={words.nothingFits} about="" /> : <EmptyState title={words.empty} about={words.emptyAbout} action={enroll} />}
      />
      {asked && (
        <ConfirmDialog
          open
          onClose={() => setAsked(null)}
          title={words.ask(words.verbs[asked], chosen.length)}
          about={ABOUT[asked]}
          verb={words.verbs[asked]}
          danger={asked === "cancelled"}
          onConfirm={change}
        />
      )}
    </>
  );
}

function Chosen({ count, onAsk }: { count: number; onAsk: (asked: Asked) => void }) {
  return (
    <>
      <span>{text.common.selected(count)}</span>
      {(["paused", "active", "cancelled"] as const).map((asked) => (
        <Button key={asked} small onClick={() => onAsk(asked)}>
          {words.verbs[asked]}
        </Button>
      ))}
    </>
  );
}

function filtersOf(sequence: Sequence): Filter[] {
  const steps = inOrder(sequence.steps).map((step) => ({ value: step.id, label: `${step.stepOrder} · ${stepSummary(step)}` }));
  return [
    { kind: "select", name: "status", label: words.status, options: Object.entries(words.statuses).map(([value, label]) => ({ value, label })) },
    { kind: "select", name: "stepId", label: words.next, options: steps },
  ];
}

export function nameOf({ contact }: Pick<Enrollment, "contact">): string {
  return contact?.name ?? contact?.externalId ?? words.deleted;
}

function columnsFor(sequence: Sequence): Column<Enrollment>[] {
  const orders = new Map([...(sequence.published?.steps ?? []), ...sequence.steps].map((step) => [step.id, step.stepOrder]));
  const next = (row: Enrollment) => {
    const order = orders.get(row.currentStepId ?? "");
    return row.nextStepAt && (
      <>
        {order !== undefined && `${text.sequences.step.title(order)} · `}
        <Time at={row.nextStepAt} />
      </>
    );
  };
  return [
    { id: "contact", title: words.contact, width: "minmax(180px, 2fr)", cell: nameOf },
    { id: "status", title: words.status, width: "120px", cell: (row) => <Status state={row.status}>{words.statuses[row.status]}</Status> },
    { id: "next", title: words.next, width: "minmax(150px, 1fr)", cell: next },
    { id: "messages", title: words.messages, width: "170px", align: "end", cell: ({ messages }) => `${messages.sent} / ${messages.failed} / ${messages.skipped}` },
    { id: "reason", title: words.reason, width: "minmax(140px, 2fr)", cell: (row) => row.reason },
    { id: "version", title: words.version, width: "80px", align: "end", cell: (row) => row.sequenceVersion },
    { id: "enrolled", title: words.enrolled, width: "120px", cell: (row) => <Time at={row.enrolledAt} /> },
  ];
}

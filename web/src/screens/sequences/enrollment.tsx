import type { Enrollment, Sequence, StepFate } from "@tidings/client";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client";
import { invalidate, isNotFound, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { KindIcon } from "../../parts/graph/kinds";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status, type Tone } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import type { ScreenProps } from "../registry";
import { useSequence } from "./api";
import { ABOUT, type Asked, nameOf } from "./detail/enrollments-tab";
import { stepSummary } from "./model/summary";
import styles from "./sequences.module.css";

const words = text.sequences.enrollments;
const EVERY_MS = 5_000;
const TONES: Readonly<Record<StepFate["fate"], Tone>> = { pending: "info", completed: "good", failed: "bad", skipped: "quiet", planned: "info", never: "quiet" };

/** One contact's way through a sequence: each step with what happened, what will, or why not. */
export default function EnrollmentDetail({ params }: ScreenProps) {
  const { id = "", enrollment: enrollmentId = "" } = params;
  const { sequence } = useSequence(id);
  const { data: enrollment, error } = useRead("GET /v1/enrollments/{id}", { path: { id: enrollmentId } }, { every: EVERY_MS });
  const back = { href: `/sequences/${id}?tab=enrollments`, label: sequence?.name ?? words.back };
  if (!enrollment) {
    const missing = <EmptyState title={words.notFound} about={text.sequences.missingAbout} />;
    return (
      <Page title={words.title} back={back}>
        {error ? isNotFound(error) ? missing : <Problem error={error} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  const status = <Status state={enrollment.status}>{words.statuses[enrollment.status]}</Status>;
  return (
    <Page title={nameOf(enrollment)} back={back} status={status} actions={<Actions enrollment={enrollment} />}>
      <Facts enrollment={enrollment} />
      <Steps enrollment={enrollment} sequence={sequence} />
    </Page>
  );
}

function Facts({ enrollment }: { enrollment: Enrollment }) {
  return (
    <KeyValue
      columns={2}
      pairs={[
        [words.contact, <Link key="contact" href={`/contacts/${enrollment.contactId}`}>{nameOf(enrollment)}</Link>],
        [words.title, <Id key="id" id={enrollment.id} />],
        [words.enrolled, <Time key="at" at={enrollment.enrolledAt} />],
        [words.completedAt, enrollment.completedAt && <Time at={enrollment.completedAt} />],
        [words.version, enrollment.sequenceVersion],
        [words.reason, enrollment.reason],
      ]}
    />
  );
}

function Steps({ enrollment, sequence }: { enrollment: Enrollment; sequence: Sequence | undefined }) {
  const { sequenceId, contactId } = enrollment;
  const { data, error, isPending } = useRead("GET /v1/sequences/{id}/why", { path: { id: sequenceId }, query: { contactId } }, { every: EVERY_MS });
  const steps = new Map([...(sequence?.published?.steps ?? []), ...(sequence?.steps ?? [])].map((step) => [step.id, step]));
  const summary = (one: StepFate) => {
    const step = steps.get(one.stepId);
    return step && stepSummary(step);
  };
  const columns: Column<StepFate>[] = [
    { id: "step", title: text.sequences.funnel.step, width: "minmax(220px, 2fr)", cell: (one) => <span className={styles.withIcon}><KindIcon type={one.channel} size={14} /> {one.stepIndex + 1} · {summary(one)}</span> },
    { id: "fate", title: words.fate, width: "140px", cell: (one) => <Status state={one.fate} tone={TONES[one.fate]}>{words.fates[one.fate]}</Status> },
    { id: "at", title: words.at, width: "140px", cell: (one) => <Time at={one.at} /> },
    { id: "reason", title: words.reason, width: "minmax(0, 2fr)", cell: (one) => one.reason },
  ];
  return (
    <Section title={words.path}>
      {error ? <Problem error={error} /> : <Table label={words.path} columns={columns} rows={data?.steps ?? []} rowKey={(one) => one.stepId} isLoading={isPending} maxHeight={640} />}
    </Section>
  );
}

function Actions({ enrollment }: { enrollment: Enrollment }) {
  const canOperate = useMay("operate");
  const [asked, setAsked] = useState<Asked | null>(null);
  const { id, status } = enrollment;
  if (!canOperate || (status !== "active" && status !== "paused")) return null;
  const choices: readonly Asked[] = status === "active" ? ["paused", "cancelled"] : ["cancelled", "active"];
  const change = async () => {
    await api.enrollments.update(id, { status: asked ?? status });
    await invalidate("/v1/enrollments", "/v1/sequences");
  };
  return (
    <>
      {choices.map((one) => (
        <Button key={one} onClick={() => setAsked(one)}>
          {words.verbs[one]}
        </Button>
      ))}
      {asked && (
        <ConfirmDialog open onClose={() => setAsked(null)} title={words.ask(words.verbs[asked], 1)} about={ABOUT[asked]} verb={words.verbs[asked]} danger={asked === "cancelled"} onConfirm={change} />
      )}
    </>
  );
}

import type { GivenAudience, Segment as SegmentView } from "@tidings/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { AudienceCountPanel } from "../../parts/audience/audience-count";
import { AudienceForm } from "../../parts/audience/audience-form";
import { audienceOf, draftOf, type Filter } from "../../parts/audience/filter";
import { useCount } from "../../parts/audience/use-count";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Field } from "../../ui/field";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Split } from "../../ui/split";
import { TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useQueryValue } from "../../ui/use-query";
import { useSubmit } from "../../ui/use-submit";
import { whereFilter } from "../contacts/where";
import type { ScreenProps } from "../registry";

const words = text.segments;
const BACK = { href: "/segments", label: words.title };
const WHOM = ["matching", "everyone"] as const;

/** One segment, or a new one: who is in it, counted while it is changed. */
export default function Segment({ params }: ScreenProps) {
  const id = params["id"];
  const isNew = id === undefined;
  const [where] = useQueryValue("where");
  const { data, error, refetch } = useRead("GET /v1/segments/{id}", { path: { id: id ?? "" } }, { enabled: !isNew });
  if (isNew) return <Editor segment={null} start={whereFilter(where)} />;
  if (error) return <Page title={words.title} back={BACK}><Problem error={error} onRetry={() => void refetch()} /></Page>;
  if (!data) return <Page title={words.title} back={BACK}><Skeleton lines={6} /></Page>;
  return <Editor key={data.id} segment={data} start={data.audience} />;
}

function Editor({ segment, start }: { segment: SegmentView | null; start: Filter | null }) {
  const [name, setName] = useState(segment?.name ?? "");
  const [draft, setDraft] = useState(() => draftOf(start));
  const [, navigate] = useLocation();
  const mayDefine = useMay("define");
  const audience = audienceOf(draft);
  const found = useCount(audience, { sample: 10 });
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const body = { name, audience: audience as GivenAudience };
    const saved = segment ? await api.segments.update(segment.id, body) : await api.segments.create(body);
    await invalidate("/v1/segments");
    toast(text.common.saved);
    if (!segment) navigate(`/segments/${saved.id}`, { replace: true });
  });
  const elsewhere = problemElsewhere(problem, ["name", "audience"]);
  const actions = (
    <>
      {audience && <ButtonLink href={`/contacts?where=${encodeURIComponent(JSON.stringify(audience))}`}>{words.show}</ButtonLink>}
      {mayDefine && segment && <Delete segment={segment} />}
      {mayDefine && (
        <Button kind="primary" type="submit" form="segment" busy={busy} disabled={!name.trim() || !audience}>
          {text.common.save}
        </Button>
      )}
    </>
  );
  return (
    <Page title={segment?.name ?? words.noName} back={BACK} actions={actions}>
      <Split
        main={
          <form id="segment" onSubmit={onSubmit} style={{ display: "grid", gap: 20, maxWidth: 760 }}>
            <Field label={words.name} problem={problemAt(problem, "name")}>
              <TextInput value={name} onChange={setName} disabled={!mayDefine} autoFocus={!segment} />
            </Field>
            <AudienceForm draft={draft} onChange={setDraft} whom={WHOM} problem={problemAt(problem, "audience")} disabled={!mayDefine} />
            {elsewhere !== null && <Problem error={elsewhere} />}
          </form>
        }
        side={
          <Section title={text.audience.count.title}>
            <AudienceCountPanel found={found} isAsked={audience !== null} />
          </Section>
        }
      />
    </Page>
  );
}

function Delete({ segment }: { segment: SegmentView }) {
  const [asking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const remove = async () => {
    await api.segments.delete(segment.id);
    toast(words.deleted);
    navigate("/segments");
    await invalidate("/v1/segments");
  };
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words.delete}</Button>
      <ConfirmDialog open={asking} onClose={() => setAsking(false)} title={words.deleteTitle} about={words.deleteAbout} verb={words.delete} danger onConfirm={remove} />
    </>
  );
}

import type { WorkspaceSettings } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate, useRead } from "../../api/queries";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Tag } from "../../ui/status";
import { TextArea, TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import { linesOf } from "../people/key-state";
import type { ScreenProps } from "../registry";
import styles from "./workspaces.module.css";

const words = text.workspaces;

/** The settings of one workspace, and the weight of its organisation. */
export default function Workspace({ params }: ScreenProps) {
  const path = { tenant: params["tenant"] ?? "", workspace: params["workspace"] ?? "" };
  const { data, error, refetch } = useRead("GET /v1/workspaces/{tenant}/{workspace}", { path });
  return (
    <Page title={path.workspace} back={{ href: "/workspaces", label: words.title }} status={<Tag>{path.tenant}</Tag>} narrow>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data && (
        <>
          <Settings key={`own:${data.updatedAt}`} settings={data} />
          <OfTenant key={`tenant:${data.tenantWeight}`} settings={data} />
        </>
      )}
    </Page>
  );
}

function useSaved(): () => Promise<void> {
  return async () => {
    await invalidate("/v1/workspaces");
    toast(words.saved);
  };
}

function Settings({ settings }: { settings: WorkspaceSettings }) {
  const [weight, setWeight] = useState(String(settings.weight));
  const [region, setRegion] = useState(settings.phoneRegion ?? "");
  const [addresses, setAddresses] = useState(settings.privateAddresses.join("\n"));
  const saved = useSaved();
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const given = { weight: Number(weight), phoneRegion: region.trim(), privateAddresses: linesOf(addresses) };
    await api.workspaces.set(settings.tenant, settings.workspace, given);
    await saved();
  });
  const elsewhere = problemElsewhere(problem, ["weight", "phoneRegion", "privateAddresses"]);
  return (
    <Section title={words.settings} about={words.settingsAbout}>
      <form className={styles.form} onSubmit={onSubmit} noValidate>
        <Field label={words.weight} hint={words.weightHint} problem={problemAt(problem, "weight")}>
          <TextInput type="number" min={1} max={1000} value={weight} onChange={setWeight} />
        </Field>
        <Field label={words.region} hint={words.regionHint} problem={problemAt(problem, "phoneRegion")}>
          <TextInput value={region} maxLength={2} onChange={(typed) => setRegion(typed.toUpperCase())} spellCheck={false} />
        </Field>
        <Field label={words.addresses} hint={words.addressesHint} problem={problemAt(problem, "privateAddresses")}>
          <TextArea mono rows={4} value={addresses} onChange={setAddresses} spellCheck={false} />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
        <div>
          <Button type="submit" kind="primary" busy={busy} disabled={!weight}>
            {text.common.save}
          </Button>
        </div>
      </form>
    </Section>
  );
}

function OfTenant({ settings }: { settings: WorkspaceSettings }) {
  const [weight, setWeight] = useState(String(settings.tenantWeight));
  const saved = useSaved();
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await api.tenants.set(settings.tenant, { weight: Number(weight) });
    await saved();
  });
  const elsewhere = problemElsewhere(problem, ["weight"]);
  return (
    <Section title={`${words.tenant}: ${settings.tenant}`} about={words.tenantWeightAbout}>
      <form className={styles.form} onSubmit={onSubmit} noValidate>
        <Field label={words.tenantWeight} hint={words.tenantWeightHint} problem={problemAt(problem, "weight")}>
          <TextInput type="number" min={1} max={1000} value={weight} onChange={setWeight} />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
        <div>
          <Button type="submit" busy={busy} disabled={!weight || Number(weight) === settings.tenantWeight}>
            {text.common.save}
          </Button>
        </div>
      </form>
    </Section>
  );
}

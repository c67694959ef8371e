import type { ProviderConnection, ProviderKindView } from "@tidings/client";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { toast } from "../../ui/toast";
import { useQueryValue } from "../../ui/use-query";
import { ConnectionForm } from "./connection-form";
import { givenOf, newDraft } from "./draft";
import { Kinds } from "./kinds";

const BACK = { href: "/connections", label: text.connections.title };

/** Choose a provider, then fill in what it must be told. */
export default function NewConnection() {
  const kinds = useRead("GET /v1/provider-kinds", {});
  const there = useRead("GET /v1/connections", {});
  const [provider] = useQueryValue("provider");
  const kind = kinds.data?.data.find((one) => one.name === provider);
  const error = kinds.error ?? there.error;
  return (
    <Page
      title={kind ? `${text.connections.add}: ${kind.title}` : text.connections.kinds.title}
      back={BACK}
      actions={kind && <ButtonLink href="/connections/new">{text.connections.kinds.another}</ButtonLink>}
    >
      {error && <Problem error={error} onRetry={() => void Promise.all([kinds.refetch(), there.refetch()])} />}
      {kinds.isPending && <Skeleton lines={6} />}
      {kinds.data && !kind && <Kinds kinds={kinds.data.data} />}
      {kind && there.data && <New key={kind.name} kind={kind} there={there.data.data} />}
    </Page>
  );
}

function New({ kind, there }: { kind: ProviderKindView; there: readonly ProviderConnection[] }) {
  const [, navigate] = useLocation();
  return (
    <ConnectionForm
      kind={kind}
      begun={newDraft(kind, there.map((one) => one.name))}
      verb={text.connections.form.create}
      onSave={async (draft) => {
        const made = await api.connections.create(givenOf(kind, draft));
        await invalidate("/v1/connections");
        toast(text.connections.form.added);
        navigate(`/connections/${made.id}`);
      }}
    />
  );
}

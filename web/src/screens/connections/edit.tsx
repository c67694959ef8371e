import type { ProviderConnection, ProviderKindView } from "@tidings/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import { text } from "../../text";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { toast } from "../../ui/toast";
import type { ScreenProps } from "../registry";
import { ConnectionForm } from "./connection-form";
import { changesOf, draftOf } from "./draft";

/** Change a connection; what is stored of its secrets is never shown. */
export default function EditConnection({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const found = useRead("GET /v1/connections/{id}", { path: { id } });
  const kinds = useRead("GET /v1/provider-kinds", {});
  const kind = kinds.data?.data.find((one) => one.name === found.data?.provider);
  const error = found.error ?? kinds.error;
  return (
    <Page
      title={`${text.connections.detail.edit}: ${found.data?.name ?? ""}`}
      back={{ href: `/connections/${id}`, label: found.data?.name ?? text.connections.one }}
    >
      {error && <Problem error={error} />}
      {!error && !(found.data && kind) && <Skeleton lines={6} />}
      {found.data && kind && <Edit one={found.data} kind={kind} />}
    </Page>
  );
}

function Edit({ one, kind }: { one: ProviderConnection; kind: ProviderKindView }) {
  const [, navigate] = useLocation();
  const [before] = useState(() => draftOf(one)); // what is read again meanwhile does not change what is being written
  return (
    <ConnectionForm
      kind={kind}
      begun={before}
      stored={one.credentials}
      verb={text.common.save}
      onSave={async (draft) => {
        const changes = changesOf(kind, before, draft);
        if (Object.keys(changes).length) await api.connections.update(one.id, changes);
        await invalidate("/v1/connections");
        toast(text.common.saved);
        navigate(`/connections/${one.id}`);
      }}
    />
  );
}

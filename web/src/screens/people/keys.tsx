import type { ApiKey, CreatedKey } from "@tidings/client";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { invalidate, useList } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { EmptyState } from "../../ui/empty-state";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status, type Tone } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time, useNow } from "../../ui/time";
import { toast } from "../../ui/toast";
import { Tooltip } from "../../ui/tooltip";
import { type KeyState, keyState } from "./key-state";
import { NewKeyDialog } from "./new-key-dialog";
import { OnceDialog } from "./once-dialog";
import { PartsNav } from "./parts-nav";
import styles from "./people.module.css";

const words = text.apiKeys;
const TONES: Readonly<Record<KeyState, Tone>> = { active: "good", expired: "quiet", revoked: "quiet" };

/** What programs use the API with; a secret is shown once, when its key is made. */
export default function Keys() {
  const list = useList("GET /v1/api-keys", {});
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<CreatedKey | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const make = (
    <Button kind="primary" icon={<KeyRound size={16} aria-hidden />} onClick={() => setMaking(true)}>
      {words.make}
    </Button>
  );
  return (
    <Page title={text.people.title} actions={make} fill bar={<PartsNav />}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={columns(setRevoking)}
          rows={list.rows}
          rowKey={(one) => one.id}
          isLoading={list.isLoading}
          more={list.more}
          empty={<EmptyState title={words.emptyTitle} about={words.emptyAbout} action={make} />}
        />
      )}
      {making && (
        <NewKeyDialog
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
          }}
        />
      )}
      {made && <Secret made={made} onClose={() => setMade(null)} />}
      {revoking && <Revoke one={revoking} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

function columns(onRevoke: (one: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    { id: "name", title: words.name, width: "minmax(110px, 1.2fr)", cell: (one) => one.name },
    { id: "role", title: words.role, width: "minmax(116px, 1fr)", cell: (one) => text.roles.names[one.role] ?? one.role },
    { id: "workspace", title: words.workspace, width: "minmax(72px, 0.6fr)", cell: (one) => one.workspace },
    { id: "prefix", title: words.prefix, width: "106px", cell: (one) => <code>{one.prefix}…</code> },
    { id: "limits", title: words.limits, width: "minmax(80px, 1fr)", cell: (one) => <Limits one={one} /> },
    { id: "state", title: words.state, width: "78px", cell: (one) => <State one={one} /> },
    { id: "lastUsed", title: words.lastUsed, width: "84px", cell: (one) => (one.lastUsedAt ? <Time at={one.lastUsedAt} /> : words.never) },
    { id: "expires", title: words.expires, width: "84px", cell: (one) => (one.expiresAt ? <Time at={one.expiresAt} /> : words.never) },
    { id: "made", title: words.made, width: "minmax(110px, 1.2fr)", cell: (one) => <Made one={one} /> },
    { id: "revoke", title: "", width: "68px", align: "end", cell: (one) => <RevokeButton one={one} onRevoke={onRevoke} /> },
  ];
}

function State({ one }: { one: ApiKey }) {
  const state = keyState(one, useNow());
  return (
    <Status state={state} tone={TONES[state]}>
      {words.states[state]}
    </Status>
  );
}

function Made({ one }: { one: ApiKey }) {
  return (
    <>
      <Time at={one.createdAt} /> <span className={styles.quiet}>{one.createdBy.replace(/^(user|key):/, "")}</span>
    </>
  );
}

function Limits({ one }: { one: ApiKey }) {
  const all = [...one.workflows, ...one.origins].join(", ");
  if (!all) return <span aria-hidden>–</span>;
  return (
    <Tooltip text={all}>
      <span>{all}</span>
    </Tooltip>
  );
}

/** An operator's key is an operator's to revoke. */
function RevokeButton({ one, onRevoke }: { one: ApiKey; onRevoke: (one: ApiKey) => void }) {
  const { isOperator } = useSession();
  const isLive = keyState(one, useNow()) !== "revoked";
  if (!isLive || (one.role === "operator" && !isOperator)) return null;
  return (
    <Button small kind="quiet" aria-label={words.revokeTitle(one.name)} onClick={() => onRevoke(one)}>
      {words.revoke}
    </Button>
  );
}

function Revoke({ one, onClose }: { one: ApiKey; onClose: () => void }) {
  const revoke = async () => {
    await api.keys.revoke(one.id);
    await invalidate("/v1/api-keys");
    toast(words.revoked);
  };
  return (
    <ConfirmDialog open onClose={onClose} title={words.revokeTitle(one.name)} about={words.revokeAbout} verb={words.revoke} danger onConfirm={revoke} />
  );
}

function Secret({ made, onClose }: { made: CreatedKey; onClose: () => void }) {
  const note = (
    <>
      {words.secret.use} <code>Authorization: Bearer …</code>
    </>
  );
  return (
    <OnceDialog
      title={words.secret.title}
      about={words.secret.about}
      label={words.secret.label(made.name)}
      value={made.secret}
      note={note}
      done={words.secret.done}
      onClose={onClose}
    />
  );
}

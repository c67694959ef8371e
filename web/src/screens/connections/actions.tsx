import type { ProviderConnection } from "@tidings/client";
import { CircleOff, Ellipsis, Pencil, Power, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { IconButton } from "../../ui/icon-button";
import { Menu, MenuItem } from "../../ui/menu";
import { toast } from "../../ui/toast";

type Question = "disable" | "enable" | "remove";

/** What an administrator can do with a connection; what the operator has set up is not theirs to change. */
export function ConnectionActions({ one, onTest }: { one: ProviderConnection; onTest: () => void }) {
  const [asking, setAsking] = useState<Question | null>(null);
  const words = text.connections.detail;
  const mayChange = useMay("administer");
  if (!mayChange || one.operators) return null;
  const more = (
    <IconButton label={words.more}>
      <Ellipsis size={16} aria-hidden />
    </IconButton>
  );
  return (
    <>
      <ButtonLink href={`/connections/${one.id}/edit`} icon={<Pencil size={14} aria-hidden />}>
        {words.edit}
      </ButtonLink>
      {one.enabled ? (
        <Button kind="primary" icon={<Send size={14} aria-hidden />} onClick={onTest}>
          {words.test}
        </Button>
      ) : (
        <Button kind="primary" icon={<Power size={14} aria-hidden />} onClick={() => setAsking("enable")}>
          {words.enable}
        </Button>
      )}
      <Menu trigger={more} align="end">
        {one.enabled && (
          <MenuItem icon={<CircleOff size={14} aria-hidden />} onSelect={() => setAsking("disable")}>
            {words.disable}
          </MenuItem>
        )}
        <MenuItem icon={<Trash2 size={14} aria-hidden />} danger onSelect={() => setAsking("remove")}>
          {words.remove}
        </MenuItem>
      </Menu>
      {asking && <Asked one={one} question={asking} onClose={() => setAsking(null)} />}
    </>
  );
}

/** Asks, does it, and says so. */
function Asked({ one, question, onClose }: { one: ProviderConnection; question: Question; onClose: () => void }) {
  const [, navigate] = useLocation();
  const words = text.connections.detail;
  const asked = {
    enable: { about: words.enableAbout, act: () => api.connections.enable(one.id), done: words.enabled },
    disable: { about: words.disableAbout, act: () => api.connections.disable(one.id), done: words.disabled },
    remove: { about: words.removeAbout, act: () => api.connections.delete(one.id), done: words.removed },
  }[question];
  const confirm = async () => {
    await asked.act();
    if (question === "remove") navigate("/connections");
    void invalidate("/v1/connections");
    toast(asked.done);
  };
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`${words[question]}: ${one.name}`}
      about={asked.about}
      verb={words[question]}
      danger={question !== "enable"}
      {...(question === "remove" ? { typed: one.name } : {})}
      onConfirm={confirm}
    />
  );
}

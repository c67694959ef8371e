import type { User, UserLink } from "@tidings/client";
import { CircleOff, Ellipsis, Link2, LogOut, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { IconButton } from "../../ui/icon-button";
import { Menu, MenuItem } from "../../ui/menu";
import { toast } from "../../ui/toast";

const words = text.people.detail;
type Question = "link" | "signOut" | "disable" | "enable" | "remove";

interface PersonActionsProps {
  user: User;
  onLink: (made: UserLink) => void;
}

/** A new link, and what locks somebody out; nobody locks themselves out. */
export function PersonActions({ user, onLink }: PersonActionsProps) {
  const [asking, setAsking] = useState<Question | null>(null);
  const { user: own } = useSession();
  const isOneself = own.id === user.id;
  const more = (
    <IconButton label={words.more}>
      <Ellipsis size={16} aria-hidden />
    </IconButton>
  );
  return (
    <>
      <Button icon={<Link2 size={14} aria-hidden />} onClick={() => setAsking("link")}>
        {words.link}
      </Button>
      <Menu trigger={more} align="end">
        <MenuItem icon={<LogOut size={14} aria-hidden />} onSelect={() => setAsking("signOut")}>
          {words.signOut}
        </MenuItem>
        {user.disabledAt ? (
          <MenuItem icon={<Power size={14} aria-hidden />} onSelect={() => setAsking("enable")}>
            {words.enable}
          </MenuItem>
        ) : (
          <MenuItem icon={<CircleOff size={14} aria-hidden />} disabled={isOneself} onSelect={() => setAsking("disable")}>
            {words.disable}
          </MenuItem>
        )}
        <MenuItem icon={<Trash2 size={14} aria-hidden />} danger disabled={isOneself} onSelect={() => setAsking("remove")}>
          {words.remove}
        </MenuItem>
      </Menu>
      {asking && <Asked user={user} question={asking} onLink={onLink} onClose={() => setAsking(null)} />}
    </>
  );
}

/** Asks, does it, and says so. */
function Asked({ user, question, onLink, onClose }: PersonActionsProps & { question: Question; onClose: () => void }) {
  const [, navigate] = useLocation();
  const acts: Record<Question, () => Promise<void>> = {
    link: async () => onLink(await api.users.link(user.id)),
    signOut: async () => {
      await api.users.signOut(user.id);
      toast(words.signedOut);
    },
    disable: async () => {
      await api.users.update(user.id, { disabled: true });
      toast(words.disabled);
    },
    enable: async () => {
      await api.users.update(user.id, { disabled: false });
      toast(words.enabled);
    },
    remove: async () => {
      await api.users.remove(user.id);
      navigate("/people");
      toast(words.removed(user.name));
    },
  };
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`${words[question]}: ${user.name}`}
      about={words[`${question}About`]}
      verb={words[question]}
      danger={question === "disable" || question === "remove"}
      onConfirm={async () => {
        await acts[question]();
        void invalidate("/v1/users");
      }}
    />
  );
}

/** How each type of node looks: its icon, and which of a few colours it has. */
import { Bell, Clock, Code, type LucideIcon, Mail, MessageCircle, MessagesSquare, Phone, Share2, Smartphone, Split, SquareDashed, Webhook } from "lucide-react";

/** What a node is for: it sends, it calls, it waits, it decides. */
export type Family = "send" | "call" | "wait" | "branch" | "unknown";

interface Kind {
  icon: LucideIcon;
  family: Family;
}

const KINDS: Readonly<Record<string, Kind>> = {
  email: { icon: Mail, family: "send" },
  sms: { icon: Smartphone, family: "send" },
  whatsapp: { icon: MessageCircle, family: "send" },
  push: { icon: Bell, family: "send" },
  voice: { icon: Phone, family: "send" },
  social: { icon: Share2, family: "send" },
  chat: { icon: MessagesSquare, family: "send" },
  webhook: { icon: Webhook, family: "call" },
  function: { icon: Code, family: "call" },
  delay: { icon: Clock, family: "wait" },
  branch: { icon: Split, family: "branch" },
};

const UNKNOWN: Kind = { icon: SquareDashed, family: "unknown" };

export function kindOf(type: string): Kind {
  return KINDS[type] ?? UNKNOWN;
}

export function KindIcon({ type, size = 16 }: { type: string; size?: number }) {
  const { icon: Icon } = kindOf(type);
  return <Icon size={size} strokeWidth={1.75} aria-hidden />;
}

import type { Contact as Person } from "@tidings/client";
import { Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { saveFile } from "../../ui/save-file";
import { Id } from "../../ui/id";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Split } from "../../ui/split";
import { Tabs } from "../../ui/tabs";
import { toast } from "../../ui/toast";
import { useQueryValue } from "../../ui/use-query";
import type { ScreenProps } from "../registry";
import { Consents } from "./consents";
import { DetailsForm } from "./details-form";
import { Enrollments } from "./enrollments";
import { Facts } from "./facts";
import { Messages } from "./messages";

const words = text.contacts;
const BACK = { href: "/contacts", label: words.title };

/** One person: who they are, whether they may be written to, and everything that was ever meant for them. */
export default function Contact({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { data, error, refetch } = useRead("GET /v1/contacts/{id}", { path: { id } });
  if (error) return <Page title={words.title} back={BACK}><Problem error={error} onRetry={() => void refetch()} /></Page>;
  if (!data) return <Page title={words.title} back={BACK}><Skeleton lines={6} /></Page>;
  return <Loaded contact={data} />;
}

function Loaded({ contact }: { contact: Person }) {
  const [tab, setTab] = useQueryValue("tab", "messages");
  const mayChange = useMay("contacts");
  const name = contact.name ?? contact.email ?? contact.externalId;
  return (
    <Page title={name} back={BACK} status={<Id id={contact.externalId} />} actions={<Actions contact={contact} mayErase={mayChange} />}>
      <Split
        sideWidth={320}
        main={
          <Tabs
            label={name}
            value={tab}
            onChange={setTab}
            tabs={[
              { value: "messages", label: words.tabs.messages, content: <Messages id={contact.id} /> },
              { value: "sequences", label: words.tabs.sequences, content: <Enrollments id={contact.id} /> },
              ...(mayChange ? [{ value: "details", label: words.tabs.details, content: <DetailsForm key={contact.updatedAt} contact={contact} /> }] : []),
            ]}
          />
        }
        side={
          <>
            <Facts contact={contact} mayChange={mayChange} />
            <Consents contact={contact} mayChange={mayChange} />
          </>
        }
      />
    </Page>
  );
}

function Actions({ contact, mayErase }: { contact: Person; mayErase: boolean }) {
  const [asking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const download = async () => {
    const everything = await api.contacts.export(contact.id);
    saveFile(`${contact.externalId}.json`, JSON.stringify(everything, null, 2), "application/json");
  };
  const erase = async () => {
    await api.contacts.delete(contact.id);
    toast(words.erased);
    navigate("/contacts");
    await invalidate("/v1/contacts", "/v1/audiences");
  };
  return (
    <>
      <Button icon={<Download size={14} aria-hidden />} title={words.exportAbout} onClick={() => void download().catch((error: unknown) => toast(String(error), { bad: true }))}>
        {words.export}
      </Button>
      {mayErase && (
        <Button icon={<Trash2 size={14} aria-hidden />} onClick={() => setAsking(true)}>
          {words.erase}
        </Button>
      )}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={words.eraseTitle}
        about={words.eraseAbout}
        verb={words.erase}
        danger
        typed={contact.externalId}
        onConfirm={erase}
      />
    </>
  );
}

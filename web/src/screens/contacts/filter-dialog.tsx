import { Filter as FilterIcon } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useMay } from "../../api/session";
import { AudienceCountPanel } from "../../parts/audience/audience-count";
import { AudienceForm } from "../../parts/audience/audience-form";
import { audienceOf } from "../../parts/audience/filter";
import { useCount } from "../../parts/audience/use-count";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { useQueryValue } from "../../ui/use-query";
import { draftOfWhere } from "./where";

const words = text.contacts;
const ONLY_MATCHING = ["matching"] as const;

/** The filter of the list: a button that says whether one is set, and the rows behind it. */
export function FilterDialog() {
  const [where, setWhere] = useQueryValue("where");
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small kind={where ? "primary" : "plain"} icon={<FilterIcon size={14} aria-hidden />} onClick={() => setOpen(true)}>
        {where ? words.filterOn : words.filter}
      </Button>
      {open && <Builder where={where} onChange={setWhere} onClose={() => setOpen(false)} />}
    </>
  );
}

function Builder({ where, onChange, onClose }: { where: string; onChange: (where: string) => void; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOfWhere(where));
  const [, navigate] = useLocation();
  const mayDefine = useMay("define");
  const filter = audienceOf(draft);
  const found = useCount(filter, { sample: 0 });
  const take = (value: string) => {
    onChange(value);
    onClose();
  };
  const actions = (
    <>
      {where && <Button onClick={() => take("")}>{words.clear}</Button>}
      {mayDefine && (
        <Button disabled={!filter} onClick={() => navigate(`/segments/new?where=${encodeURIComponent(JSON.stringify(filter))}`)}>
          {words.saveAsSegment}
        </Button>
      )}
      <Button kind="primary" disabled={!filter} onClick={() => take(JSON.stringify(filter))}>
        {words.apply}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.filter} about={words.filterAbout} actions={actions} wide>
      <AudienceForm draft={draft} onChange={setDraft} whom={ONLY_MATCHING} />
      <AudienceCountPanel found={found} isAsked={filter !== null} />
    </Dialog>
  );
}

import type { Role, WorkspaceRoles } from "@tidings/client";
import { X } from "lucide-react";
import { useRead } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Checkbox } from "../../ui/checkbox";
import { IconButton } from "../../ui/icon-button";
import { Select } from "../../ui/select";
import styles from "./people.module.css";
import { ROLES_OF_PEOPLE, rolesToGive, withRole } from "./roles";

const words = text.people.form;

interface RolesEditorProps {
  value: readonly WorkspaceRoles[];
  onChange: (value: WorkspaceRoles[]) => void;
  disabled?: boolean;
}

/** Which roles somebody has in which workspace. */
export function RolesEditor({ value, onChange, disabled = false }: RolesEditorProps) {
  const known = useWorkspaces();
  const { isOperator } = useSession();
  const left = known.filter((name) => !value.some((one) => one.workspace === name));
  const change = (workspace: string, roles: Role[]) => onChange(value.map((one) => (one.workspace === workspace ? { workspace, roles } : one)));
  return (
    <div className={styles.editor}>
      {value.map((one) => (
        <RolesOfWorkspace
          key={one.workspace}
          held={one}
          offered={isOperator || disabled ? ROLES_OF_PEOPLE : rolesToGive(ROLES_OF_PEOPLE, false)}
          disabled={disabled}
          onChange={(roles) => change(one.workspace, roles)}
          onRemove={() => onChange(value.filter((other) => other !== one))}
        />
      ))}
      {value.length === 0 && <p className={styles.quiet}>{words.noWorkspaces}</p>}
      {!disabled && left.length > 0 && (
        <Select
          small
          className={styles.add}
          aria-label={words.addWorkspace}
          value=""
          options={[{ value: "", label: `${words.addWorkspace} …` }, ...left.map((name) => ({ value: name, label: name }))]}
          onChange={(workspace) => workspace && onChange([...value, { workspace, roles: ["reader"] }])}
        />
      )}
    </div>
  );
}

interface RolesOfWorkspaceProps {
  held: WorkspaceRoles;
  offered: readonly Role[];
  disabled: boolean;
  onChange: (roles: Role[]) => void;
  onRemove: () => void;
}

function RolesOfWorkspace({ held, offered, disabled, onChange, onRemove }: RolesOfWorkspaceProps) {
  return (
    <fieldset className={styles.workspace} disabled={disabled}>
      <legend>{held.workspace}</legend>
      {!disabled && (
        <span className={styles.remove}>
          <IconButton small label={words.removeWorkspace(held.workspace)} onClick={onRemove}>
            <X size={14} aria-hidden />
          </IconButton>
        </span>
      )}
      {offered.map((role) => (
        <div key={role} className={styles.role}>
          <Checkbox checked={held.roles.includes(role)} disabled={disabled} onChange={(has) => onChange(withRole(held.roles, role, has))}>
            {text.roles.names[role]}
          </Checkbox>
          <p>{text.roles.about[role]}</p>
        </div>
      ))}
      {held.roles.length === 0 && (
        <p role="alert" className={styles.wrong}>
          {words.noRoles}
        </p>
      )}
    </fieldset>
  );
}

/** The workspaces of the tenant: those with anything in them, and one's own. */
export function useWorkspaces(): readonly string[] {
  const { tenant, workspaces } = useSession();
  const { data } = useRead("GET /v1/workspaces", { query: { tenant } });
  const names = [...workspaces.map((one) => one.workspace), ...(data?.data ?? []).map((one) => one.workspace)];
  return [...new Set(names)].sort((one, other) => one.localeCompare(other));
}

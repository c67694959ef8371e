import { useSession } from "../../api/session";
import { text } from "../../text";
import { Page, Section } from "../../ui/page";
import { Tag, wordsOf } from "../../ui/status";
import styles from "./account.module.css";
import { Appearance } from "./appearance";
import { PasswordForm } from "./password-form";
import { ProfileForm } from "./profile-form";
import { Sessions } from "./sessions";

/** What concerns only the person who is signed in. */
export default function Account() {
  const { workspaces } = useSession();
  return (
    <Page title={text.account.title} narrow>
      <Section title={text.account.profile}>
        <ProfileForm />
      </Section>
      <Section title={text.account.password} about={text.account.passwordAbout}>
        <PasswordForm />
      </Section>
      <Section title={text.account.appearance}>
        <Appearance />
      </Section>
      <Section title={text.account.roles}>
        <ul className={styles.roles}>
          {workspaces.map((one) => (
            <li key={one.workspace}>
              <span>{one.workspace}</span>
              <span className={styles.tags}>
                {one.roles.map((role) => (
                  <Tag key={role}>{wordsOf(role)}</Tag>
                ))}
              </span>
            </li>
          ))}
        </ul>
      </Section>
      <Sessions />
    </Page>
  );
}

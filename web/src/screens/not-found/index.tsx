import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Page } from "../../ui/page";

/** For an address that no screen has. */
export function NotFound() {
  return (
    <Page title={text.notFound.title}>
      <EmptyState
        title={text.notFound.about}
        about={<code>{window.location.pathname}</code>}
        action={<ButtonLink href="/">{text.notFound.home}</ButtonLink>}
      />
    </Page>
  );
}

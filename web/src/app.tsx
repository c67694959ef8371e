import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Redirect, Route, Switch, useLocation, useSearchParams } from "wouter";
import { queryClient } from "./api/queries";
import { SessionProvider, useSessionState } from "./api/session";
import { Boundary } from "./shell/boundary";
import { Shell } from "./shell/shell";
import { Toaster } from "./ui/toast";
import { TooltipProvider } from "./ui/tooltip";
import { Problem } from "./ui/problem";

const SignIn = lazy(() => import("./screens/sign-in"));
const Welcome = lazy(() => import("./screens/welcome"));

/** The whole page: who is signed in sees the shell, everybody else the way in. */
export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <SessionProvider>
          <Boundary>
            <Suspense fallback={null}>
              <Switch>
                <Route path="/sign-in">
                  <Entrance />
                </Route>
                <Route path="/welcome">
                  <Welcome />
                </Route>
                <Route>
                  <SignedIn />
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
        </SessionProvider>
        <Toaster />
      </TooltipProvider>
    </QueryClientProvider>
  );
}

function SignedIn() {
  const { session, problem, reload } = useSessionState();
  const [path] = useLocation();
  if (session) return <Shell key={session.workspace} />;
  if (session === null) return <Redirect to={path === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(path)}`} />;
  if (problem) return <Problem error={problem} onRetry={() => void reload()} />;
  return null;
}

function Entrance() {
  const { session } = useSessionState();
  const [params] = useSearchParams();
  if (session) return <Redirect to={ownPath(params.get("next"))} />;
  return session === null ? <SignIn /> : null;
}

/** A path of this page; never another site's address. */
function ownPath(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) ? next : "/";
}

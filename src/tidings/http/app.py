"""Puts the API together."""

import time
from collections.abc import Sequence
from itertools import chain

from fastapi import FastAPI
from starlette.routing import Route

from tidings.config import Config
from tidings.engine import Engine
from tidings.http import (
    audit,
    campaigns,
    contacts,
    dead_letters,
    docs,
    drafts,
    enrollments,
    events,
    executions,
    failures,
    functions,
    functions_endpoint,
    health,
    keys,
    node_types,
    oidc,
    overview,
    previews,
    provider_connections,
    providers,
    rules,
    runs,
    senders,
    sequences,
    sessions,
    simulate,
    templates,
    triggers,
    users,
    workflows,
    workspaces,
)
from tidings.http.access import Api
from tidings.http.body_memory import BodyMemory
from tidings.http.cors import BrowserAccess
from tidings.http.edge import HttpEdge
from tidings.http.errors import handle_errors
from tidings.http.guesses import Guesses
from tidings.http.lean import LEAN_ROUTES, LeanRoute, LeanRoutes
from tidings.http.metrics import Metrics
from tidings.http.openapi import describe
from tidings.http.page import PageRoute
from tidings.http.people_settings import PeopleSettings
from tidings.http.pulse import Pulse
from tidings.http.rate import RateLimit
from tidings.http.sign_in_tries import SignInTries
from tidings.http.simulator import Simulates
from tidings.http.streams import Streams
from tidings.version import __version__

RESOURCES = (
    *(overview, failures),
    *(workflows, drafts, node_types, previews, executions, dead_letters, sequences, enrollments, simulate),
    # An external id may hold a slash, so a contact's path takes the rest of the address: paths below it come first.
    *(campaigns, runs, rules, events, contacts),
    *(senders, templates),
    *(sessions, oidc, users, provider_connections, keys, functions, workspaces, providers, audit, health, docs),
)


def create_app(
    engine: Engine, config: Config, simulator: Simulates | None = None, lean: Sequence[LeanRoute] = LEAN_ROUTES
) -> FastAPI:
    """Return the HTTP API on an engine; the caller closes the engine."""
    app = FastAPI(
        title="Tidings",
        version=__version__,
        openapi_url=None,
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere; docs.py has its own
        redoc_url=None,
        redirect_slashes=False,
    )
    metrics = Metrics(engine)
    rate = RateLimit(config.rate_limit, time.monotonic)
    guesses = Guesses(engine, metrics.authentication_failed)
    app.state.api = Api(
        engine=engine,
        rate=rate,
        metrics=metrics,
        streams=Streams(),
        bodies=BodyMemory(),
        guesses=guesses,
        sign_in_tries=SignInTries(metrics.authentication_failed),
        people=PeopleSettings.of(config),
        pulse=Pulse(engine),
        simulator=simulator,
    )
    app.add_middleware(LeanRoutes, routes=lean)
    app.add_middleware(BrowserAccess, engine=engine)
    app.add_middleware(HttpEdge, metrics=metrics)
    handle_errors(app)
    plain = [*triggers.ROUTES, Route(functions_endpoint.PATH, functions_endpoint.WorkflowEnqueue())]
    # Not include_router: it rebuilds every operation at an app's first requests, for 90 ms in all.
    app.state.routes = [*plain, *chain.from_iterable(resource.router.routes for resource in RESOURCES)]
    app.router.routes += [*app.state.routes, PageRoute()]
    object.__setattr__(app, "openapi", lambda: describe(app))
    return app

// What we add to fastify's own types: every route says who may call it, every request knows who did.
import type { Traffic } from './lifecycle.ts';
import type { OpenStreams } from './streams.ts';

/**
 * `public`: anybody. `admin`: who has the admin token. `organization`: who has a key of an organization.
 * `gateway`: who has a gateway key or the admin token. `tenant`: who has a key of an organization, for what is the
 * organization's own, or the admin token.
 */
export type RouteAccess = 'public' | 'admin' | 'organization' | 'gateway' | 'tenant';

export interface KnownRoute {
  readonly method: string;
  /** With parameters as `:id` and a trailing `*` for the rest. */
  readonly url: string;
  readonly access: RouteAccess;
}

export type Caller =
  | { readonly kind: 'admin' }
  | { readonly kind: 'organization'; readonly organizationId: string }
  | { readonly kind: 'gateway'; readonly keyId: string };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
    /** The answer stays open: it has no time limit and ends when the server drains. */
    isStream?: boolean;
    /** The body is not read before the handler, which keeps limits of its own. */
    readsBodyItself?: boolean;
    /**
     * Fields of the body in which U+0000 may be: what becomes of them strips it, or does not mind. `everywhere`: in all.
     */
    nulAllowedIn?: readonly string[] | 'everywhere';
    /** Called so often that its rows would bury all others. */
    audit?: false;
    /** Probes answer to the very end. */
    isServedWhileDraining?: boolean;
  }
  interface FastifyRequest {
    /** Set once the credentials were checked; `null` on public routes. */
    caller: Caller | null;
    isAudited: boolean;
  }
  interface FastifyInstance {
    traffic: Traffic;
    openStreams: OpenStreams;
    knownRoutes: readonly KnownRoute[];
  }
}

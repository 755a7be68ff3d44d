// Who may call an operation.

/**
 * `public`: anyone. `admin`: the admin token. `organization`: a key of an organization. `gateway`: a gateway key or the
 * admin token. `tenant`: a key of an organization, for its own data, or the admin token.
 */
export type CallerAccess = 'public' | 'admin' | 'organization' | 'gateway' | 'tenant';

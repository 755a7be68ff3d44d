// The ways of proving who asks, brought down to three: nothing, fixed headers, a token from a call.
import type { RestAuth } from './rest-definition.ts';
import type { RawAuth } from './rest-schema.ts';

type RawOauth = Extract<RawAuth, { type: 'oauth_client_credentials' }>;
type RawLogin = Extract<RawAuth, { type: 'login' }>;

export function resolveAuth(raw: RawAuth): RestAuth {
  switch (raw.type) {
    case 'none':
      return { type: 'none' };
    case 'bearer':
      return { type: 'headers', headers: { authorization: `Bearer ${raw.token}` } };
    case 'basic':
      return { type: 'headers', headers: { authorization: basic(raw.username, raw.password) } };
    case 'header':
      return { type: 'headers', headers: { [raw.name.toLowerCase()]: raw.value } };
    case 'oauth_client_credentials':
      return oauth(raw);
    case 'login':
  }
  return login(raw);
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };

function oauth(raw: RawOauth): RestAuth {
  const isInBody = raw.credentials_in === 'body';
  const fields = {
    grant_type: 'client_credentials',
    ...(raw.scope === undefined ? {} : { scope: raw.scope }),
    ...(isInBody ? { client_id: raw.client_id, client_secret: raw.client_secret } : {}),
  };
  // RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
  const encoded = basic(encodeURIComponent(raw.client_id), encodeURIComponent(raw.client_secret));
  return {
    type: 'token',
    url: raw.token_url,
    headers: { ...form, ...(isInBody ? {} : { authorization: encoded }) },
    body: new URLSearchParams(fields).toString(),
    tokenPath: ['access_token'],
    expiresInPath: ['expires_in'],
    header: 'authorization',
    prefix: 'Bearer ',
  };
}

function login(raw: RawLogin): RestAuth {
  const fields = Object.fromEntries(Object.entries(raw.body).map(([key, value]) => [key, String(value)]));
  return {
    type: 'token',
    url: raw.url,
    headers: raw.format === 'json' ? { 'content-type': 'application/json' } : form,
    body: raw.format === 'json' ? JSON.stringify(raw.body) : new URLSearchParams(fields).toString(),
    tokenPath: raw.token_path.split('.'),
    expiresInPath: raw.expires_in_path?.split('.') ?? null,
    header: raw.header.toLowerCase(),
    prefix: raw.prefix,
  };
}

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

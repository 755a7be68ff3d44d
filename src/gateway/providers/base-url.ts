// Base URLs with variables of the environment in them: `{NAME}`, or `{NAME=what it is when not set}`.

type Environment = Readonly<Record<string, string | undefined>>;

const variable = /\{([A-Z][A-Z0-9_]*)(?:=([^}]*))?\}/g;

export interface UrlVariable {
  readonly name: string;
  /** Undefined: the model is not configured without it. */
  readonly fallback: string | undefined;
}

export function urlVariables(baseUrl: string): readonly UrlVariable[] {
  return Array.from(baseUrl.matchAll(variable), ([, name = '', fallback]) => ({ name, fallback }));
}

/** The address to call, without a slash at its end; undefined when a variable is missing or it is no web address. */
export function fillBaseUrl(baseUrl: string, env: Environment): string | undefined {
  let isMissing = false;
  const filled = baseUrl.replace(variable, (_, name: string, fallback: string | undefined, at: number) => {
    const value = env[name]?.trim() || fallback;
    if (value === undefined) isMissing = true;
    // At the start it is an address itself; further on a part of one, which must not change where it leads.
    return at === 0 ? (value ?? '').replace(/\/+$/, '') : encodeURIComponent(value ?? '');
  });
  if (isMissing) return undefined;
  // People write Ollama's address with and without /v1.
  const address = filled.replace(/\/+$/, '').replace(/\/v1\/v1$/, '/v1');
  return baseUrlProblem(address) === undefined ? address : undefined;
}

/** What is wrong with an address as a base URL, to follow its name; undefined when nothing is. */
export function baseUrlProblem(address: string): string | undefined {
  if (!URL.canParse(address)) return 'must be a web address like https://api.example.com/v1';
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must start with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user or password; put the key into an environment variable';
  return url.search !== '' || url.hash !== '' || /[?#]/.test(address)
    ? 'must not hold a query or fragment'
    : undefined;
}

/** Does the address lead to this machine or a private network? Names are judged, not looked up. */
export function isLocalAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const host = new URL(address).hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host.includes(':')) return /^(?:::1$|f[cd]|fe[89ab])/.test(host);
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host))
    return /^(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|0\.0\.0\.0$)(?:\.|$)/.test(host);
  return !host.includes('.') || /\.(?:localhost|local|internal|lan|home\.arpa)$/.test(host);
}

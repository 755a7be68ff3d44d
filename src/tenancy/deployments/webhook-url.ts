// Where webhooks may go.

const longestUrl = 2_000;

/** Hosts that webhooks may not go to; where a name leads is seen when the webhook is sent. */
export type IsForbiddenHost = (hostname: string) => boolean;

/** What is wrong with the address; null when nothing is. */
export function webhookUrlProblem(text: string, isForbidden: IsForbiddenHost): string | null {
  if (text.length > longestUrl) return `must have at most ${longestUrl} characters`;
  // The parser drops spaces at both ends, tabs and line breaks: what is called would not be what is shown.
  const url = /[\s\p{C}]/u.test(text) ? null : URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'must be an http or https address';
  if (url.username !== '' || url.password !== '')
    return 'must hold no user name and no password, since webhooks are signed instead';
  if (url.hash !== '') return 'must hold no fragment (#): it is never sent';
  return isForbidden(url.hostname) ? privateProblem : null;
}

const privateProblem =
  'must not lead to this machine or into a private network, unless deployments.allowPrivateWebhooks ' +
  '(HEADWORKS_WEBHOOK_ALLOW_PRIVATE) is true';

// Words that names carry without being names: titles, company forms, generic nouns.

/** Before a person's name. */
export const titles: ReadonlySet<string> = new Set([
  'mr',
  'mrs',
  'ms',
  'miss',
  'mx',
  'dr',
  'doctor',
  'prof',
  'professor',
  'sir',
  'dame',
  'lady',
  'lord',
  'rev',
  'hon',
  'herr',
  'frau',
  'mme',
  'monsieur',
  'madame',
]);

/** After a person's name, without telling people apart. */
export const degrees: ReadonlySet<string> = new Set(['phd', 'md', 'msc', 'bsc', 'mba', 'esq', 'cpa', 'dds']);

/** After a person's name, telling father from son. */
export const generations: ReadonlyMap<string, string> = new Map([
  ['jr', 'jr'],
  ['junior', 'jr'],
  ['sr', 'sr'],
  ['senior', 'sr'],
  ['ii', 'ii'],
  ['iii', 'iii'],
  ['iv', 'iv'],
]);

/** They belong to the surname that follows. */
export const particles: ReadonlySet<string> = new Set([
  'van',
  'von',
  'der',
  'den',
  'de',
  'da',
  'di',
  'du',
  'la',
  'le',
  'del',
  'della',
  'dos',
  'bin',
  'ibn',
  'al',
  'el',
  'ter',
  'ten',
  'st',
]);

/** Forms of companies; those of one kind have one word. */
export const companyForms: ReadonlyMap<string, string> = new Map(
  (
    [
      ['inc', 'inc incorporated'],
      ['corp', 'corp corporation'],
      ['co', 'co company'],
      ['ltd', 'ltd limited'],
      ['llc', 'llc'],
      ['llp', 'llp'],
      ['lp', 'lp'],
      ['plc', 'plc'],
      ['gmbh', 'gmbh'],
      ['ag', 'ag'],
      ['kg', 'kg'],
      ['se', 'se'],
      ['sa', 'sa'],
      ['sas', 'sas'],
      ['sarl', 'sarl'],
      ['srl', 'srl'],
      ['spa', 'spa'],
      ['bv', 'bv'],
      ['nv', 'nv'],
      ['ab', 'ab'],
      ['as', 'as'],
      ['oy', 'oy'],
      ['aps', 'aps'],
      ['pty', 'pty'],
      ['pvt', 'pvt'],
      ['kk', 'kk'],
    ] as const
  ).flatMap(([form, words]) => words.split(' ').map((word) => [word, form] as const)),
);

/** Forms that people use for one another without meaning another company. */
export const looseForms: ReadonlySet<string> = new Set(['inc', 'corp', 'co']);

/** What a project, product or place is, rather than what it is called. */
export const genericNouns: ReadonlySet<string> = new Set([
  'the',
  'a',
  'an',
  'project',
  'program',
  'programme',
  'initiative',
  'effort',
  'system',
  'platform',
  'app',
  'application',
  'service',
  'tool',
  'dashboard',
  'report',
  'team',
  'document',
  'doc',
  'city',
  'town',
  'of',
]);

/** Mailboxes that no single person owns. */
export const sharedMailboxes: ReadonlySet<string> = new Set([
  'info',
  'contact',
  'team',
  'support',
  'sales',
  'hello',
  'admin',
  'office',
  'help',
  'service',
  'noreply',
  'no-reply',
  'donotreply',
  'marketing',
  'press',
  'jobs',
  'hr',
  'billing',
  'all',
  'everyone',
]);

/** Mail domains that say nothing of an employer. */
export const publicMailDomains: ReadonlySet<string> = new Set([
  'gmail.com',
  'googlemail.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'yahoo.com',
  'icloud.com',
  'me.com',
  'aol.com',
  'gmx.de',
  'gmx.net',
  'web.de',
  'proton.me',
  'protonmail.com',
  'example.com',
  'example.org',
]);

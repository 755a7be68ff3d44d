// Word lists: the kind of a word (from the lexicon of compromise), and cue words around names of people, organizations
// and projects.
import { readFileSync } from 'node:fs';

export type WordKind =
  | 'given'
  | 'surname'
  | 'place'
  | 'organization'
  | 'verb'
  | 'past'
  | 'noun'
  | 'adjective'
  | 'function';

/** Written by scripts/word-kinds.ts. */
export const wordKindsFile = new URL('./word-kinds.txt', import.meta.url);

/**
 * Takes some milliseconds; importing compromise took .3 s in one task, which blocked the server (B1), and 50 MB per thread.
 * Words by kind: lines of words with commas between them, after a line with their kind in brackets.
 */
function loadKinds(): ReadonlyMap<string, WordKind> {
  const loaded = new Map<string, WordKind>();
  let kind: WordKind = 'noun';
  for (const line of readFileSync(wordKindsFile, 'utf8').split('\n'))
    if (line.startsWith('[')) kind = line.slice(1, -1) as WordKind;
    else if (line !== '' && !line.startsWith('#')) for (const word of line.split(',')) loaded.set(word, kind);
  return loaded;
}

let loadedKinds: ReadonlyMap<string, WordKind> | null = null;
const kinds = (): ReadonlyMap<string, WordKind> => (loadedKinds ??= loadKinds());

const set = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Given names that are also words: alone they are names only if the context shows it. */
const namesAndWords = set(
  `will mark grace joy hope faith may april june august rose art bill chase drew grant sue pat rich frank jack rob
  ray dean miles gene guy lance max nick norm penny pearl rusty skip summer sunny tab victor ward wade dawn eve ivy
  iris lily olive ruby sage violet heather hazel ginger crystal amber jade autumn angel bliss charity christian
  earnest glory harmony honor jewel justice melody merry patience prudence royal serenity sky star sterling trinity
  will rocky reed robin wren jay sandy brook cliff heath dale glen ford chance trace case ace king prince duke earl
  major buddy`,
);
const monthNames = set('april may june august');

/** Kind of a lower-case word, or of several for places and organizations. Undefined: not in the lexicon. */
export const wordKind = (word: string): WordKind | undefined => kinds().get(word);

/** A given name that is also a word ("Grace", "Mark"). */
export const isAmbiguousName = (word: string): boolean => namesAndWords.has(word);

/** April, May, June and August: nearly always months, not names. */
export const isMonth = (word: string): boolean => monthNames.has(word);

export const isGivenName = (word: string): boolean =>
  kinds().get(word) === 'given' || namesAndWords.has(word) || kinds().get(plainLetters(word)) === 'given';

/** The lexicon has "maria"; texts may have "maría". */
const plainLetters = (word: string): string =>
  /^[a-z]*$/.test(word) ? '' : word.normalize('NFD').replaceAll(/\p{M}/gu, '');

const everyday = set('verb past noun adjective function');

/** A common word that is not a name by itself. */
export const isEveryday = (word: string): boolean => everyday.has(kinds().get(word) ?? '');

/** Last words of names of organizations. */
export const organizationEndings = set(
  `inc corp corporation ltd limited llc llp gmbh ag se sa sas sarl bv nv plc co company kg oy ab srl spa pty
  group holding holdings bank university institute labs laboratories partners ventures foundation agency ministry
  council airlines airways systems technologies technology solutions software consulting hospital college association
  federation committee commission authority capital industries enterprises networks pharmaceuticals motors insurance
  logistics energy media studios museum society union trust`,
);

/** Endings of words written together, as in DataSoft. */
export const organizationTails = /(?:corp|soft|bank|labs?|tech|works|systems|media|group|pharma|ware|gmbh)$/i;

/** Words followed by the name of an organization. */
export const organizationLeads = set(
  `customer client vendor supplier partner competitor provider prospect startup company firm employer investor agency
  contractor distributor reseller subsidiary acquirer`,
);

/** Phrases before the name of an organization: "a partnership with", "the acquisition of". */
export const organizationPhrases =
  /\b(?:partnership|contract|deal|agreement|merger|negotiations?|negotiating|collaboration|discussions|talks|acquisition|acquired|acquire|acquiring|acquires|takeover|works? (?:at|for)|worked (?:at|for)|joined|employed (?:at|by)|hired by|invoice from|shares? (?:in|of)|\p{Lu}\p{L}+ at)(?: (?:with|of|by|from|at))?(?: the)? $/iu;

export const honorifics = set(
  'mr mrs ms miss mx dr prof professor sir madam herr frau señor señora signor signora sister brother',
);

/** Verbs whose subject is a person. */
export const personVerbs = set(
  `said says asked asks told tells reported reports noted notes flagged flags suggested suggests proposed proposes
  presented presents raised raises agreed agrees decided decides promised promises volunteered explained explains
  mentioned mentions warned warns thinks thought wants wanted believes believed committed commits joined recommended
  recommends requested requests confirmed confirms estimates estimated expects expected reviewed reviews wrote writes
  replied replies argued argues offered offers worries worried complained complains signed approved approves led leads
  owns owned volunteers disagreed disagrees objected objects admitted insisted added adds concluded observed finished
  completed emailed called phoned met attended`,
);

/** Verbs of tasks that people take on. */
export const personActionVerbs = set(
  `send call review prepare write draft finish complete deliver share update provide schedule present join lead check
  contact ask talk speak meet order book confirm investigate handle fix follow coordinate organize organise arrange test
  set create own help support look reach sign approve decide discuss`,
);

/** Words before the name of a person, such as "met" or "wrote to". Words that also precede tools are excluded. */
export const personLeads =
  /\b(?:(?:written|prepared|approved|signed|led|reported|reviewed|presented|proposed|raised|suggested|requested|chaired|confirmed|sent|drafted|edited|found|organi[sz]ed|taken|done) by|by|ask(?:ed)?|tell|told|ping(?:ed)?|thank(?:s|ed)?|contact(?:ed)?|e?mail(?:ed)?|invited?|hired?|remind(?:ed)?|interview(?:ed)?|met|introduced?|(?:speak|spoke|spoken|talk(?:ed)?|meeting|met|meet|chat(?:ted)?|lunch|check(?:ed)?|are|is|lies|sits|discuss(?:ed)?|agree(?:d)?|clarif(?:y|ied)|along|together) with|according to|(?:forward(?:ed)?|sen[dt]|give|gave|hand(?:ed)?|reports?|reported|talk(?:ed)?|spoke|speak|wr(?:ite|ote)|delegated?|assigned|addressed)(?: [\p{Ll}]+){0,3} to|(?:came|comes|heard|message|e?mail|note|letter|draft|question|request|feedback|reply|word|answer) from|it was|(?:winners?|speakers?|authors?|guests?|members?|candidates?|colleagues?|attendees|participants) (?:are|is|were|was)) $/iu;

/** Verbs before "by": companies are the subject as often as people. */
export const companyVerbs =
  /\b(?:released|distributed|published|developed|manufactured|made|sold|powered|hosted|operated|run|sponsored|funded|acquired|owned|provided|supplied|hired|employed|bordered|bounded|north|south|east|west)\b/i;

/** Words of job titles. */
export const roleWords = set(
  `lead manager engineer officer director head vp president founder cofounder chair chairman chairwoman chairperson
  analyst designer developer architect consultant coordinator specialist scientist professor secretary treasurer
  accountant administrator assistant associate intern editor writer marketer researcher technician operator advisor
  adviser counsel lawyer attorney recruiter buyer planner strategist producer owner pm po ceo cfo cto coo cio cmo cpo
  ciso cso chro svp evp dev devops qa sre backend frontend design product engineering marketing sales finance legal
  operations support mobile content social data security hr ops programme program project principal senior junior staff
  deputy minister spokesperson spokeswoman spokesman partner nurse doctor teacher`,
);

/** Departments, which follow a job title like an employer would. */
export const departments = set(
  `infrastructure analytics growth research communications procurement compliance accounting purchasing platform team
  department division unit squad core remote infra it ux ui r&d web cloud`,
);

/** Words followed by the name of an institution: University of Oxford. */
export const institutions = set(
  'university ministry bank institute department bureau council chamber college',
);

/** Shared mailboxes and handles. */
export const sharedNames = set(
  `team teams all everyone everybody group info support help helpdesk service contact office admin administrator root
  postmaster webmaster noreply no reply donotreply sales marketing engineering finance legal hr people jobs careers
  press media billing invoice invoices accounting accounts security abuse ops devops dev it list lists news newsletter
  notifications notification alerts updates hello mail mailer bot system data feedback orders order shop company staff
  board members channel here customers partners design product management leadership exec execs executive`,
);

/** Last words of names of things: streets, buildings, prizes, programs. */
export const thingEndings = set(
  `street road avenue boulevard lane drive court plaza square bridge river lake mount mountain island islands airport
  station school church hotel conference award prize cup league season period day week month act law theory
  desk center centre studio suite dashboard warehouse server engine cloud store app tool hub page portal`,
);

/** Last words of names of projects: redesign, migration, campaign. */
export const projectEndings = set(
  `project redesign refactor rewrite migration rollout relaunch campaign initiative programme program pilot overhaul
  revamp upgrade modernization modernisation consolidation deployment integration layer tier platform pipeline
  roadmap launch release prototype rebrand rebranding sprint epic workstream transformation automation replatforming
  portal module prototype`,
);

/** Endings of projects that are too common to count after one occurrence. */
export const plainEndings = set(
  'launch release sprint roadmap module project program programme platform integration',
);

/** Verbs whose object is built. */
export const buildVerbs = set(
  `implement implementing implemented build building built configure configuring configured deploy deploying deployed
  launch launching launched migrate migrating migrated roll rolling develop developing developed refactor refactoring
  redesign redesigning set setting introduce introducing introduced prototype prototyping ship shipping shipped`,
);

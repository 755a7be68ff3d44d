// Cue words for the category of a sentence, and headings that set the category of what follows.
import type { EventCategory } from '../types.ts';

interface Cue {
  readonly category: EventCategory;
  readonly pattern: RegExp;
  readonly weight: number;
}

/** For lower-case text, without the case and Unicode flags, which make the search several times slower. */
const cue = (category: EventCategory, weight: number, words: string): Cue => ({
  category,
  weight,
  pattern: new RegExp(`\\b(?:${words})(?![a-z0-9])`),
});

/** Patterns match lower-case text. At equal weight the earlier one wins. */
export const cues: readonly Cue[] = [
  cue(
    'Decision',
    3,
    'decided|decides|agreed (?:to|on|that|we)|have agreed|chose|opted|settled on|voted|resolved to|ruled|signed off|we (?:are|will be) going with',
  ),
  cue(
    'Decision',
    3,
    "approved|has approved|selected|decision:|the decision (?:is|was)|let['’]s (?:do it|go (?:ahead|with))|go ahead with|takes? priority|prioriti[sz]ed?|adopted|rejected|greenlit",
  ),
  cue(
    'Decision',
    2,
    '(?:going|go) with|^we (?:need|have) to|paused|on hold|hold off|confirmed (?:that )?(?:we|they)',
  ),
  cue(
    'Commitment',
    3,
    'committed to|commits to|promised|volunteered|pledged|assigned to|(?:is|are) responsible for|takes? over|took over|deadline|due (?:on|by|date)?',
  ),
  cue(
    'Commitment',
    3,
    "i['’]ll|i will|we['’]ll|on it|will (?:have|send|deliver|prepare|finish|complete|review|share|update|provide|write|draft|schedule|set up|configure|coordinate|present|follow up|focus|handle|look into|fix|ship|publish|create|finali[sz]e|organi[sz]e|contact|reach out|check|lead|own|do)",
  ),
  cue(
    'Commitment',
    2,
    'agreed to (?:update|send|deliver|prepare|finish|complete|review|share|provide|write|draft|schedule)|please(?! let me)|to follow up|shall',
  ),
  cue(
    'Execution',
    3,
    'completed|finished|shipped|delivered|deployed|launched|released|implemented|merged|published|rolled out|went live|is live|are live|set up and running|is done|are done|done!|fixed|resolved|closed',
  ),
  cue(
    'Execution',
    2,
    '(?:is|are|all|now) (?:\\d+ ?% )?(?:ready|complete|configured|done|set|locked(?: in)?|approved|scheduled|finished)|\\d+ ?% (?:complete|done|ready|of)|on track|prepared|uploaded|configured|submitted|got approval|signed|scheduled|confirmed|tested|built|migrated|hired|reported',
  ),
  cue(
    'QualityRisk',
    3,
    'concern(?:s|ed)?|risks?|worried|worr(?:y|ies)|bottlenecks?|bugs?|outages?|incidents?|blockers?|blocked|vulnerabilit(?:y|ies)|regressions?|at risk|breach(?:ed)?|flaky|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|stretched thin|escalat(?:ed|ing)',
  ),
  cue(
    'QualityRisk',
    2,
    "(?:may|might|could|will|would|does|do|did) not (?:be |have |handle|hold|meet|suffice|scale|work|make)|(?:may|might|could) (?:become|slip|fail|break|delay|miss)|won['’]t|insufficient|shortage|behind schedule|overdue|delay(?:s|ed)?|slipp(?:ed|ing)|extra (?:days?|weeks?|months?)|not (?:yet )?(?:ready|complete|done|tested)|issues?|problems?|defects?|sla|evaluating alternatives|churn|over budget|flagged|unstable|missed",
  ),
  cue(
    'Feedback',
    3,
    'feedback|requested|suggested|complain(?:ed|s|t|ts)|praised|preferred|would (?:like|prefer)|recommend(?:s|ed|ation)?|review comments?|liked|disliked|criticized|criticised',
  ),
  cue(
    'Feedback',
    2,
    'great work|nice work|excellent work|well done|love the|looks? great|asked (?:for|that|whether)|thinks|survey',
  ),
  cue(
    'Change',
    3,
    '(?:moved|shifted|changed|switched|reduced|increased|cut|raised|lowered|extended|renamed|migrated|downgraded|upgraded) (?:[a-z]+ )?(?:from|to|by)|postponed|rescheduled|replaced|renamed|re-?scoped|no longer|instead of|reverted|rolled back|superseded',
  ),
  cue(
    'Change',
    2,
    'changed|added|removed|moved|reduced|increased|dropped|new date|updated|revised|reorgani[sz]ed',
  ),
  cue(
    'Collaboration',
    3,
    'met with|worked (?:closely )?with|working with|paired (?:with|on)|collaborat(?:ed|es|ing|ion)|together with|workshop|joint(?:ly)?|co-authored|helped|helping',
  ),
  cue('Collaboration', 2, 'sync(?:ed)?|kick-?off|discuss(?:ed)?|brainstorm(?:ed)?|coordinat(?:ed|es|ing)'),
  cue(
    'Stakeholder',
    3,
    'partnership|term sheet|investors?|regulators?|stakeholders?|shareholders?|signed (?:a |the )?(?:contract|deal|agreement) with|joined (?:as|the)|resigned|appointed|promoted to|left the company|onboarded|key customer|renewed',
  ),
  cue('Stakeholder', 2, 'announced'),
  cue('Stakeholder', 1.5, 'customers?|clients?|vendors?|board|competitors?'),
];

export interface Section {
  readonly category: EventCategory;
  /** Weight that the heading gives a sentence, and a list item, below it. */
  readonly sentence: number;
  readonly item: number;
}

const sections: readonly (readonly [RegExp, Section])[] = [
  [
    /\b(?:action items?|actions|to-?dos?|next steps|follow-?ups?|tasks|assignments|timeline|commitments|owners)\b/i,
    { category: 'Commitment', sentence: 0.5, item: 1 },
  ],
  [
    /\b(?:decisions?|resolutions?|agreed|outcomes?|resolved)\b/i,
    { category: 'Decision', sentence: 1, item: 1 },
  ],
  [
    /\b(?:risks?|concerns?|issues|blockers?|problems|known bugs|threats)\b/i,
    { category: 'QualityRisk', sentence: 1, item: 3.5 },
  ],
  [/\b(?:feedback|comments|reactions|reviews?)\b/i, { category: 'Feedback', sentence: 0.5, item: 1 }],
  [
    /\b(?:changes|modifications|changelog|amendments|revisions)\b/i,
    { category: 'Change', sentence: 1, item: 2 },
  ],
  [
    /\b(?:status|updates?|progress|highlights|accomplishments|done|completed|achievements|shipped)\b/i,
    { category: 'Execution', sentence: 0.5, item: 1.5 },
  ],
];

/** The section that a heading, or a line that ends with a colon, opens; null: none. */
export const sectionOf = (heading: string): Section | null =>
  sections.find(([pattern]) => pattern.test(heading))?.[1] ?? null;

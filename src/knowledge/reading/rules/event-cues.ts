// Cue words for the category of a sentence, and headings that set the category of what follows.
import type { EventCategory } from '../types.ts';

interface Cue {
  readonly category: EventCategory;
  readonly pattern: RegExp;
  readonly weight: number;
}

/**
 * Category, weight and pattern. Patterns match lower-case text, without the case and Unicode flags, which make the search
 * several times slower. At equal weight the earlier one wins.
 */
export const cues: readonly Cue[] = String.raw`
Decision 3 decided|decides|agreed (?:to|on|that|we)|have agreed|chose|opted|settled on|voted|resolved to|ruled|signed off|we (?:are|will be) going with
Decision 3 approved|has approved|selected|decision:|the decision (?:is|was)|let['’]s (?:do it|go (?:ahead|with))|go ahead with|takes? priority|prioriti[sz]ed?|adopted|rejected|greenlit
Decision 2 (?:going|go) with|^we (?:need|have) to|paused|on hold|hold off|confirmed (?:that )?(?:we|they)
Commitment 3 committed to|commits to|promised|volunteered|pledged|assigned to|(?:is|are) responsible for|takes? over|took over|deadline|due (?:on|by|date)?
Commitment 3 i['’]ll|i will|we['’]ll|on it|will (?:have|send|deliver|prepare|finish|complete|review|share|update|provide|write|draft|schedule|set up|configure|coordinate|present|follow up|focus|handle|look into|fix|ship|publish|create|finali[sz]e|organi[sz]e|contact|reach out|check|lead|own|do)
Commitment 2 agreed to (?:update|send|deliver|prepare|finish|complete|review|share|provide|write|draft|schedule)|please(?! let me)|to follow up|shall
Execution 3 completed|finished|shipped|delivered|deployed|launched|released|implemented|merged|published|rolled out|went live|is live|are live|set up and running|is done|are done|done!|fixed|resolved|closed
Execution 2 (?:is|are|all|now) (?:\d+ ?% )?(?:ready|complete|configured|done|set|locked(?: in)?|approved|scheduled|finished)|\d+ ?% (?:complete|done|ready|of)|on track|prepared|uploaded|configured|submitted|got approval|signed|scheduled|confirmed|tested|built|migrated|hired|reported
QualityRisk 3 concern(?:s|ed)?|risks?|worried|worr(?:y|ies)|bottlenecks?|bugs?|outages?|incidents?|blockers?|blocked|vulnerabilit(?:y|ies)|regressions?|at risk|breach(?:ed)?|flaky|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|stretched thin|escalat(?:ed|ing)
QualityRisk 2 (?:may|might|could|will|would|does|do|did) not (?:be |have |handle|hold|meet|suffice|scale|work|make)|(?:may|might|could) (?:become|slip|fail|break|delay|miss)|won['’]t|insufficient|shortage|behind schedule|overdue|delay(?:s|ed)?|slipp(?:ed|ing)|extra (?:days?|weeks?|months?)|not (?:yet )?(?:ready|complete|done|tested)|issues?|problems?|defects?|sla|evaluating alternatives|churn|over budget|flagged|unstable|missed
Feedback 3 feedback|requested|suggested|complain(?:ed|s|t|ts)|praised|preferred|would (?:like|prefer)|recommend(?:s|ed|ation)?|review comments?|liked|disliked|criticized|criticised
Feedback 2 great work|nice work|excellent work|well done|love the|looks? great|asked (?:for|that|whether)|thinks|survey
Change 3 (?:moved|shifted|changed|switched|reduced|increased|cut|raised|lowered|extended|renamed|migrated|downgraded|upgraded) (?:[a-z]+ )?(?:from|to|by)|postponed|rescheduled|replaced|renamed|re-?scoped|no longer|instead of|reverted|rolled back|superseded
Change 2 changed|added|removed|moved|reduced|increased|dropped|new date|updated|revised|reorgani[sz]ed
Collaboration 3 met with|worked (?:closely )?with|working with|paired (?:with|on)|collaborat(?:ed|es|ing|ion)|together with|workshop|joint(?:ly)?|co-authored|helped|helping
Collaboration 2 sync(?:ed)?|kick-?off|discuss(?:ed)?|brainstorm(?:ed)?|coordinat(?:ed|es|ing)
Stakeholder 3 partnership|term sheet|investors?|regulators?|stakeholders?|shareholders?|signed (?:a |the )?(?:contract|deal|agreement) with|joined (?:as|the)|resigned|appointed|promoted to|left the company|onboarded|key customer|renewed
Stakeholder 2 announced
Stakeholder 1.5 customers?|clients?|vendors?|board|competitors?
`
  .trim()
  .split('\n')
  .map((line) => {
    const [category = '', weight, ...words] = line.split(' ');
    const pattern = new RegExp(`\\b(?:${words.join(' ')})(?![a-z0-9])`);
    return { category: category as EventCategory, weight: Number(weight), pattern };
  });

export interface Section {
  readonly category: EventCategory;
  /** Weight that the heading gives a sentence, and a list item, below it. */
  readonly sentence: number;
  readonly item: number;
}

/** Category, weight of a sentence, weight of an item, and the pattern of the heading. */
const sections: readonly (readonly [RegExp, Section])[] = String.raw`
Commitment 0.5 1 action items?|actions|to-?dos?|next steps|follow-?ups?|tasks|assignments|timeline|commitments|owners
Decision 1 1 decisions?|resolutions?|agreed|outcomes?|resolved
QualityRisk 1 3.5 risks?|concerns?|issues|blockers?|problems|known bugs|threats
Feedback 0.5 1 feedback|comments|reactions|reviews?
Change 1 2 changes|modifications|changelog|amendments|revisions
Execution 0.5 1.5 status|updates?|progress|highlights|accomplishments|done|completed|achievements|shipped
`
  .trim()
  .split('\n')
  .map((line) => {
    const [category = '', sentence, item, ...words] = line.split(' ');
    const section = { category: category as EventCategory, sentence: Number(sentence), item: Number(item) };
    return [new RegExp(`\\b(?:${words.join(' ')})\\b`, 'i'), section];
  });

/** The section that a heading, or a line that ends with a colon, opens; null: none. */
export const sectionOf = (heading: string): Section | null =>
  sections.find(([pattern]) => pattern.test(heading))?.[1] ?? null;

// Words that tools take, with what they mean. Types demand that none is missing; loading the domain would cost every start.
import { z } from 'zod';
import type { ArtifactType, EntityType, EventCategory } from '../knowledge/index.ts';

const artifactTypes: Readonly<Record<ArtifactType, true>> = {
  email: true,
  doc: true,
  chat: true,
  transcript: true,
  note: true,
};

const entityTypes: Readonly<Record<EntityType, true>> = {
  person: true,
  org: true,
  project: true,
  object: true,
  place: true,
  other: true,
};

const eventCategories: Readonly<Record<EventCategory, true>> = {
  Commitment: true,
  Execution: true,
  Decision: true,
  Collaboration: true,
  QualityRisk: true,
  Feedback: true,
  Change: true,
  Stakeholder: true,
};

const choiceOf = <Word extends string>(words: Readonly<Record<Word, true>>) =>
  z.enum(Object.keys(words) as Word[]);

export const artifactType = choiceOf(artifactTypes);
export const entityType = choiceOf(entityTypes);
export const eventCategory = choiceOf(eventCategories);

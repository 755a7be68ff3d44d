// What a model is told of somebody: little, and bounded.
import type { Described } from './confirm-match.ts';
import type { Profile } from './profile.ts';
import { identityOf } from './profile.ts';

export const describeProfile = (profile: Profile): Described => ({
  name: profile.names[0] ?? '',
  type: profile.type,
  otherNames: profile.names.slice(1, 10),
  email: profile.emails[0] ?? null,
  organization: profile.organizations[0] ?? null,
  role: profile.roles[0] ?? null,
  notes: profile.notes.filter((note) => identityOf(note) === null).slice(0, 10),
  companions: profile.companions.slice(0, 20),
});

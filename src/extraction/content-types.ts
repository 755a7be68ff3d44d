// Looker's twelve content types with the numbers of document 001.

export const lookerContentTypes = {
  dashboards: 1,
  looks: 2,
  lookml_models: 3,
  explores: 4,
  folders: 5,
  boards: 6,
  users: 7,
  groups: 8,
  roles: 9,
  permission_sets: 10,
  model_sets: 11,
  scheduled_plans: 12,
} as const;

export type LookerContentType = keyof typeof lookerContentTypes;

/** Types of other sources are numbered from here by the vault that holds them. */
export const firstOwnNumber = 101;

// Reads what a caller of a listing asks for, and says what is wrong with it as Looker would.
import type { SimulatedType } from './ports.ts';

export interface ListingQuery {
  /** Null: everything from `offset` on. */
  readonly limit: number | null;
  readonly offset: number;
  /** Empty: no order was asked for. */
  readonly sorts: readonly SortField[];
  /** As written; empty: all. */
  readonly fields: string;
  readonly filters: readonly (readonly [field: string, pattern: string])[];
  /** As Link headers repeat it. */
  readonly parameters: URLSearchParams;
}

export interface SortField {
  readonly field: string;
  readonly isDescending: boolean;
}

export interface FieldProblem {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

/** What items of these types can be sorted by; other types by any of their fields. */
const sortable: Readonly<Partial<Record<SimulatedType, string>>> = {
  dashboards:
    'title user_id id created_at folder_id description view_count favorite_count slug content_favorite_id ' +
    'content_metadata_id deleted deleted_at last_viewed_at last_accessed_at',
  lookml_dashboards: 'title id folder_id content_favorite_id content_metadata_id',
  looks:
    'title user_id id created_at folder_id description updated_at last_updater_id view_count favorite_count ' +
    'content_favorite_id deleted deleted_at last_viewed_at last_accessed_at query_id',
};

// oxfmt-ignore
const filterNames = [

  'id', 'slug', 'title', 'name', 'description', 'folder_id', 'parent_id', 'creator_id', 'user_id', 'query_id',
  'email', 'first_name', 'last_name', 'dashboard_id', 'look_id', 'external_group_id', 'content_metadata_id',
];

const largest = 1_000_000_000;

/** The query, or every problem it has. */
export function readListingQuery(
  type: SimulatedType,
  parameters: URLSearchParams,
): { readonly query: ListingQuery } | { readonly problems: readonly FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const number = (field: string, least: number): number | null => {
    const text = parameters.get(field);
    if (text === null || text === '') return null;
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    if (value >= least && value <= largest) return value;
    problems.push({ field, code: 'invalid', message: `${field} must be a whole number from ${least}` });
    return null;
  };
  const limit = number('limit', 1);
  const offset = number('offset', 0);
  const perPage = number('per_page', 1);
  const page = number('page', 1);
  const sorts = readSorts(parameters.get('sorts') ?? '');
  for (const { field } of sorts)
    if (!(sortable[type] ?? field).split(' ').includes(field))
      problems.push({ field: 'sorts', code: 'invalid', message: `cannot sort by ${field}` });
  if (problems.length > 0) return { problems };
  const size = limit ?? perPage;
  return {
    query: {
      limit: size,
      offset: offset ?? (limit === null && size !== null && page !== null ? (page - 1) * size : 0),
      sorts,
      fields: parameters.get('fields') ?? '',
      filters: filterNames.flatMap((name) => {
        const pattern = parameters.get(name);
        return pattern === null ? [] : [[name, pattern] as const];
      }),
      parameters,
    },
  };
}

/** `title desc, id`; also `-title`. */
function readSorts(text: string): readonly SortField[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', direction = ''] = part.split(/\s+/);
      return {
        field: name.replace(/^-/, ''),
        isDescending: name.startsWith('-') || /^desc$/i.test(direction),
      };
    });
}

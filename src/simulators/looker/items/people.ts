// Users, groups, roles and permissions: none of them has an `updated_at`.
import { modelNames, numberedTeam, personAt } from '../names.ts';
import type { ItemMaker, Json } from './item-context.ts';
import { can, numberedId, reference } from './item-context.ts';

const permissions = [
  'access_data',
  'see_looks',
  'see_user_dashboards',
  'explore',
  'create_table_calculations',
];

export const users: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const { first, last, email } = personAt(index);
    const id = numberedId(index);
    return {
      can: can('show_details'),
      avatar_url: `https://avatars.example/${id}.png`,
      credentials_email: { email, is_disabled: false, type: 'email', user_id: id },
      credentials_embed: [],
      email,
      first_name: first,
      group_ids: [numberedId(reference(context, 'groups'))],
      home_folder_id: '1',
      id,
      is_disabled: chance.hits(0.08),
      last_name: last,
      locale: 'en',
      personal_folder_id: null,
      presumed_looker_employee: false,
      role_ids: [numberedId(reference(context, 'roles'))],
      verified_looker_employee: false,
      roles_externally_managed: false,
      allow_direct_roles: true,
      is_service_account: false,
      url: `/api/4.0/users/${id}`,
    };
  },
  text: {
    field: 'display_name',
    value: ({ index }) => `${personAt(index).first} ${personAt(index).last}`,
  },
};

export const groups: ItemMaker = {
  id: numberedId,
  make: ({ index, chance }) => ({
    can: can('add_to_content_metadata', 'update'),
    can_add_to_content_metadata: true,
    contains_current_user: false,
    externally_managed: false,
    id: numberedId(index),
    include_by_default: false,
    name: numberedTeam(index),
    user_count: chance.below(80),
  }),
  text: { field: 'external_group_id', value: ({ index }) => `okta-${index + 1}` },
};

export const roles: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index } = context;
    const permissionSet = reference(context, 'permission_sets');
    const modelSet = reference(context, 'model_sets');
    return {
      can: can('update'),
      id: numberedId(index),
      permission_set: { ...permissionSetFacts(permissionSet), name: permissionSetName(permissionSet) },
      permission_set_id: numberedId(permissionSet),
      model_set: { ...modelSetFacts(modelSet), name: modelSetName(modelSet) },
      model_set_id: numberedId(modelSet),
      internal: false,
      url: `/api/4.0/roles/${index + 1}`,
    };
  },
  text: { field: 'name', value: ({ index }) => `${numberedTeam(index)} Analyst` },
};

export const permissionSets: ItemMaker = {
  id: numberedId,
  make: ({ index }) => permissionSetFacts(index),
  text: { field: 'name', value: ({ index }) => permissionSetName(index) },
};

export const modelSets: ItemMaker = {
  id: numberedId,
  make: ({ index }) => modelSetFacts(index),
  text: { field: 'name', value: ({ index }) => modelSetName(index) },
};

const permissionSetName = (index: number): string => `${numberedTeam(index)} permissions`;
const modelSetName = (index: number): string => `${numberedTeam(index)} models`;

function permissionSetFacts(index: number): Json {
  return {
    can: can('update'),
    all_access: false,
    built_in: index === 0,
    id: numberedId(index),
    permissions: permissions.slice(0, 2 + (index % 4)),
    url: `/api/4.0/permission_sets/${index + 1}`,
  };
}

function modelSetFacts(index: number): Json {
  return {
    can: can('update'),
    all_access: index === 0,
    built_in: index === 0,
    id: numberedId(index),
    models: modelNames.slice(0, 1 + (index % 3)),
    url: `/api/4.0/model_sets/${index + 1}`,
  };
}

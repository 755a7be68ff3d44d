// How items of every type are made.
import type { SimulatedType } from '../types.ts';
import { boards, dashboards, folders, lookmlDashboards, looks, scheduledPlans } from './content-items.ts';
import type { ItemMaker } from './item-context.ts';
import { explores, lookmlModels } from './lookml.ts';
import { groups, modelSets, permissionSets, roles, users } from './people.ts';

export const itemMakers: Readonly<Record<SimulatedType, ItemMaker>> = {
  dashboards,
  lookml_dashboards: lookmlDashboards,
  looks,
  lookml_models: lookmlModels,
  explores,
  folders,
  boards,
  users,
  groups,
  roles,
  permission_sets: permissionSets,
  model_sets: modelSets,
  scheduled_plans: scheduledPlans,
};

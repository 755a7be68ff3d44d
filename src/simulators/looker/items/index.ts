// How items of every type are made.
import type { SimulatedType } from '../ports.ts';
import { boards, scheduledPlans } from './boards.ts';
import { dashboards, lookmlDashboards } from './dashboards.ts';
import { folders } from './folders.ts';
import type { ItemMaker } from './item-context.ts';
import { explores, lookmlModels } from './lookml.ts';
import { looks } from './looks.ts';
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

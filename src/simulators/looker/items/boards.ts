// Boards and scheduled plans: what shows and sends dashboards and looks.
import { numberedTeam, personAt, subjects } from '../names.ts';
import type { ItemMaker } from './item-context.ts';
import { can, createdAt, numberedId, reference, updatedAt } from './item-context.ts';

export const boards: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const id = numberedId(index);
    const section = {
      id: `${id}1`,
      board_id: id,
      title: chance.pick(subjects),
      created_at: createdAt(context),
      board_items: [{ id: `${id}11`, dashboard_id: numberedId(reference(context, 'dashboards')), order: 0 }],
    };
    return {
      can: can('update'),
      content_metadata_id: String(40_000 + index),
      created_at: createdAt(context),
      deleted_at: null,
      board_sections: [section],
      id,
      section_order: [section.id],
      title: `${numberedTeam(index)} start page`,
      updated_at: updatedAt(context),
      user_id: numberedId(reference(context, 'users')),
      primary_homepage: index === 0,
    };
  },
  text: { field: 'description', value: ({ chance }) => `Where ${chance.pick(subjects)} is looked at.` },
};

export const scheduledPlans: ItemMaker = {
  id: numberedId,
  make(context) {
    const { index, chance } = context;
    const owner = reference(context, 'users');
    const { first, last, email } = personAt(owner);
    const id = numberedId(index);
    return {
      name: `${chance.pick(subjects)} every ${chance.pick(['Monday', 'morning', 'month'])}`,
      user_id: numberedId(owner),
      run_as_recipient: false,
      enabled: chance.hits(0.9),
      look_id: null,
      dashboard_id: numberedId(reference(context, 'dashboards')),
      require_results: false,
      send_all_results: false,
      crontab: `${chance.below(60)} 6 * * 1`,
      timezone: 'UTC',
      scheduled_plan_destination: [
        { id: `${id}1`, scheduled_plan_id: id, format: 'wysiwyg_pdf', address: email, type: 'email' },
      ],
      run_once: false,
      include_links: true,
      id,
      created_at: createdAt(context),
      updated_at: updatedAt(context),
      user: { id: numberedId(owner), first_name: first, last_name: last, display_name: `${first} ${last}` },
      can: can('run_now', 'update'),
    };
  },
  text: { field: 'filters_string', value: ({ index }) => `?Period=${30 + (index % 60)}+days` },
};

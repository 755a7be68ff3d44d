// Page Knowledge: search, artifacts, entities and review of one space.
import { Box, Button, Group } from '@mantine/core';
import { Link, Route, Switch, useLocation } from 'wouter';
import { NotFoundWithin, PageTitle } from '../../components/states.tsx';
import { ArtifactPage } from './artifacts/artifact-page.tsx';
import { ArtifactsPage } from './artifacts/artifacts-page.tsx';
import { useRead } from './queries.ts';
import { EntitiesPage } from './entities/entities-page.tsx';
import { EntityPage } from './entities/entity-page.tsx';
import { EventRedirect } from './artifacts/event-redirect.tsx';
import { useAddress, useSpaceRef } from './space-ref.ts';
import { ReviewPage } from './review/review-page.tsx';
import { maxPairs } from './review/review-queries.ts';
import { SearchPage } from './search/search-page.tsx';
import { SpaceSwitcher } from './space-switcher.tsx';

const sections = [
  { path: '', label: 'Search' },
  { path: '/artifacts', label: 'Artifacts' },
  { path: '/entities', label: 'Entities' },
  { path: '/review', label: 'Review' },
] as const;

export default function KnowledgePage() {
  const [location] = useLocation();
  const { organization = '', space = '' } = useSpaceRef();
  const section = sections.findLast(({ path }) => location.startsWith(`/knowledge${path}`))?.path ?? '';
  return (
    <>
      <PageTitle right={<SpaceSwitcher section={section} />}>Knowledge</PageTitle>
      <Sections current={section} />
      {/* Remount for another space, so that no state of the previous one stays. */}
      <Box key={`${organization} ${space}`}>
        <Switch>
          <Route path="/knowledge" component={SearchPage} />
          <Route path="/knowledge/artifacts" component={ArtifactsPage} />
          <Route path="/knowledge/artifacts/:id">{({ id }) => <ArtifactPage key={id} id={id} />}</Route>
          <Route path="/knowledge/events/:id">{({ id }) => <EventRedirect id={id} />}</Route>
          <Route path="/knowledge/entities" component={EntitiesPage} />
          <Route path="/knowledge/entities/:id">{({ id }) => <EntityPage key={id} id={id} />}</Route>
          <Route path="/knowledge/review" component={ReviewPage} />
          <Route component={NotFoundWithin} />
        </Switch>
      </Box>
    </>
  );
}

function Sections({ current }: { readonly current: string }) {
  const address = useAddress();
  return (
    <Group component="nav" aria-label="Knowledge" gap={4} mb="md">
      {sections.map(({ path, label }) => (
        <Button
          key={path}
          component={Link}
          href={address(path)}
          size="compact-sm"
          variant={path === current ? 'default' : 'subtle'}
          color="gray"
          aria-current={path === current ? 'page' : undefined}
        >
          {label}
          {path === '/review' ? <OpenPairs /> : null}
        </Button>
      ))}
    </Group>
  );
}

function OpenPairs() {
  const { data } = useRead('GET /api/v1/knowledge/pairs', { query: { limit: maxPairs } });
  const count = data?.pairs.length ?? 0;
  return count === 0 ? null : <>&nbsp;({count === maxPairs ? `${maxPairs}+` : count})</>;
}

// Page Extraction: sources, runs, one run with its types, throughput and failed pages, and its vault.
import { Stack } from '@mantine/core';
import { Route, Switch } from 'wouter';
import { PageTitle } from '../../components/states.tsx';
import { RunDetail } from './run-detail.tsx';
import { Runs } from './runs.tsx';
import { Sources } from './sources.tsx';
import { VaultBrowser } from './vault-browser.tsx';

export default function ExtractionPage() {
  return (
    <Switch>
      <Route path="/extraction/runs/:id/vault">{({ id }) => <VaultBrowser run={id} />}</Route>
      <Route path="/extraction/runs/:id">{({ id }) => <RunDetail id={id} />}</Route>
      <Route>
        <PageTitle>Extraction</PageTitle>
        <Stack gap="xl">
          <Sources />
          <Runs />
        </Stack>
      </Route>
    </Switch>
  );
}

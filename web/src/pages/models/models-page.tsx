// Page Models: ranking, cooldowns, a form to send a prompt, and the last requests.
import { Checkbox, Code, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Route, Switch, useSearchParams } from 'wouter';
import { api } from '../../api/client.ts';
import { Empty, PageTitle, Shown } from '../../components/states.tsx';
import { ModelDetail } from './model-detail.tsx';
import { ModelTable } from './model-table.tsx';
import { PromptBox } from './prompt-box.tsx';
import { Requests } from './requests.tsx';

export default function ModelsPage() {
  return (
    <Switch>
      <Route path="/models/:id">{({ id }) => <ModelDetail id={id} />}</Route>
      <Route>
        <AllModels />
      </Route>
    </Switch>
  );
}

function AllModels() {
  const [params, setParams] = useSearchParams();
  const isEverything = params.get('all') === 'true';
  const query = useQuery({
    queryKey: ['models', 'list', isEverything],
    queryFn: ({ signal }) =>
      api('GET /api/v1/models', {
        query: {
          active_only: isEverything ? 'false' : 'true',
          configured_only: isEverything ? 'false' : 'true',
          include_recent: 'true',
        },
        signal,
      }),
    refetchInterval: 10_000,
  });
  return (
    <>
      <PageTitle
        right={
          <Checkbox
            label="Show disabled and unconfigured models"
            checked={isEverything}
            onChange={({ currentTarget }) => setParams(currentTarget.checked ? { all: 'true' } : {})}
          />
        }
      >
        Models
      </PageTitle>
      <Stack gap="xl">
        <Shown
          what="the models"
          query={query}
          isEmpty={(models) => models.length === 0}
          empty={
            <Empty title="No models available">
              Set the API key of a provider (for example <Code>OPENAI_API_KEY</Code>) and restart the server,
              or create a model of any OpenAI-compatible server: <Code>headworks models create --help</Code>
            </Empty>
          }
        >
          {(models) => <ModelTable models={models} />}
        </Shown>
        <PromptBox />
        <Requests />
      </Stack>
    </>
  );
}

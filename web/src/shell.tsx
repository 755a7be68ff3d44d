// The frame around every page: navigation, connection state and firing alerts.
import type { Alerts } from '../../src/api/limits.ts';
import {
  ActionIcon,
  Alert,
  Anchor,
  AppShell,
  Burger,
  Group,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconBrain,
  IconBuildingCommunity,
  IconCloudDownload,
  IconListCheck,
  IconLogout,
  IconMoon,
  IconRobot,
  IconSitemap,
  IconSun,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useEffect } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { ApiError, api } from './api/client.ts';
import type { Connection } from './api/live.ts';
import { useLiveConnection } from './api/live.ts';
import { FiringAlerts } from './firing-alerts.tsx';
import { notifyFailure } from './components/action.tsx';
import { StateBadge } from './components/state-badge.tsx';

const pages = [
  { path: '/', label: 'Data flow', icon: IconSitemap },
  { path: '/extraction', label: 'Extraction', icon: IconCloudDownload },
  { path: '/models', label: 'Models', icon: IconRobot },
  { path: '/organizations', label: 'Organizations', icon: IconBuildingCommunity },
  { path: '/knowledge', label: 'Knowledge', icon: IconBrain },
  { path: '/ledger', label: 'Ledger', icon: IconListCheck },
] as const;

export function Shell({ children }: { readonly children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure();
  const connection = useLiveConnection();
  const alerts = useAlerts();
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <Anchor href="#page" className="skip-link">
        Skip to content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <Text fw={700}>Headworks</Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ConnectionBadge connection={connection} />
            <SchemeButton />
            <ActionIcon variant="subtle" aria-label="Log out" onClick={() => void logOut()}>
              <IconLogout size={18} />
            </ActionIcon>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <ScrollArea>
          <Pages onNavigate={close} />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="page">
        <Stack gap="sm" mb={connection === 'lost' || alerts.length > 0 ? 'md' : 0}>
          {connection === 'lost' ? <LostAlert /> : null}
          <FiringAlerts alerts={alerts} />
        </Stack>
        {children}
      </AppShell.Main>
    </AppShell>
  );
}

function Pages({ onNavigate }: { readonly onNavigate: () => void }) {
  const [location] = useLocation();
  return pages.map(({ path, label, icon: Icon }) => {
    const isHere = path === '/' ? location === '/' : location.startsWith(path);
    return (
      <NavLink
        key={path}
        component={Link}
        href={path}
        label={label}
        leftSection={<Icon size={18} aria-hidden />}
        active={isHere}
        aria-current={isHere ? 'page' : undefined}
        onClick={onNavigate}
      />
    );
  });
}

/** Firing alerts. Without a session, redirects to the login page, which returns to this address. */
function useAlerts(): Alerts['alerts'] {
  const [location, go] = useLocation();
  const search = useSearch();
  const { data, error } = useQuery({
    queryKey: ['alerts'],
    queryFn: ({ signal }) => api('GET /api/v1/alerts', { signal }),
    refetchInterval: 10_000,
  });
  const isLoggedOut = error instanceof ApiError && error.kind === 'logged-out';
  useEffect(() => {
    if (!isLoggedOut) return;
    const from = location + (search === '' ? '' : `?${search}`);
    go(from === '/' ? '/login' : `/login?${new URLSearchParams({ from }).toString()}`, { replace: true });
  }, [isLoggedOut, location, search, go]);
  return data?.alerts.filter(({ state }) => state === 'firing') ?? [];
}

function ConnectionBadge({ connection }: { readonly connection: Connection }) {
  const tone = connection === 'live' ? 'good' : connection === 'lost' ? 'bad' : 'idle';
  return (
    <span role="status">
      <StateBadge tone={tone}>
        {connection === 'live' ? 'live' : connection === 'lost' ? 'disconnected' : 'connecting'}
      </StateBadge>
    </span>
  );
}

function LostAlert() {
  return (
    <Alert color="gray" title="The server is not responding" role="alert" p="xs">
      Showing the last known data. Reconnecting every two seconds.
    </Alert>
  );
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon
      variant="subtle"
      aria-label={`Use the ${other} color scheme`}
      onClick={() => setColorScheme(other)}
    >
      {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  );
}

async function logOut(): Promise<void> {
  try {
    await api('DELETE /api/v1/dashboard/session');
    globalThis.location.assign('/dashboard/login');
  } catch (error) {
    // A person who leaves the machine must see that the session is still open.
    const why = error instanceof Error ? error.message : String(error);
    notifyFailure('You are still logged in', `Logging out failed. ${why}`);
  }
}

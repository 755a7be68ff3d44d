// Entry point of the dashboard: theme, query client, router, shell.
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import 'uplot/dist/uPlot.min.css';
import './theme.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { queryClient } from './api/query-client.ts';
import { App } from './app.tsx';
import { theme } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '';
// Dialogs add a style element while open; the library reads its nonce from here.
Object.assign(globalThis, { __webpack_nonce__: nonce });
const root = document.querySelector('#root');

if (root)
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <Notifications position="bottom-right" notificationMaxHeight={600} />
        <QueryClientProvider client={queryClient}>
          <Router base="/dashboard">
            <App />
          </Router>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );

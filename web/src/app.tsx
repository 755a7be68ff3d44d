// Which page is shown at which address. Pages come in files of their own, loaded when they are first opened.
import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { Loading, NotFound } from './parts/states.tsx';
import { Login } from './login.tsx';
import { Shell } from './shell.tsx';

const Flow = lazy(() => import('./pages/flow/flow-page.tsx'));
const Extraction = lazy(() => import('./pages/extraction/extraction-page.tsx'));
const Models = lazy(() => import('./pages/models/models-page.tsx'));
const Tenants = lazy(() => import('./pages/tenants/tenants-page.tsx'));
const Knowledge = lazy(() => import('./pages/knowledge/knowledge-page.tsx'));
const Ledger = lazy(() => import('./pages/ledger/ledger-page.tsx'));

export function App() {
  return (
    <Switch>
      <Route path="/login" component={Login} />
      <Route>
        <Shell>
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              <Route path="/" component={Flow} />
              <Route path="/extraction/*?" component={Extraction} />
              <Route path="/models/*?" component={Models} />
              <Route path="/tenants/*?" component={Tenants} />
              <Route path="/knowledge/*?" component={Knowledge} />
              <Route path="/ledger/*?" component={Ledger} />
              <Route path="/index.html">
                <Redirect to="/" />
              </Route>
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </Shell>
      </Route>
    </Switch>
  );
}

// Which page is shown at which address. Pages come in files of their own, loaded when they are first opened.
import { lazy, Suspense, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { PageGuard } from './components/page-guard.tsx';
import { Loading, NotFound } from './components/states.tsx';
import { Login } from './login.tsx';
import { Shell } from './shell.tsx';

const load = {
  flow: () => import('./pages/flow/flow-page.tsx'),
  extraction: () => import('./pages/extraction/extraction-page.tsx'),
  models: () => import('./pages/models/models-page.tsx'),
  organizations: () => import('./pages/organizations/organizations-page.tsx'),
  knowledge: () => import('./pages/knowledge/knowledge-page.tsx'),
  ledger: () => import('./pages/ledger/ledger-page.tsx'),
};
const Flow = lazy(load.flow);
const Extraction = lazy(load.extraction);
const Models = lazy(load.models);
const Organizations = lazy(load.organizations);
const Knowledge = lazy(load.knowledge);
const Ledger = lazy(load.ledger);

/** Delay until all other pages are loaded, so that they open even while the server is down. */
const loadRestMs = 2_000;

export function App() {
  const [location] = useLocation();
  useEffect(() => {
    const loadRest = () => Object.values(load).forEach((each) => void each().catch(() => undefined));
    const timer = setTimeout(loadRest, loadRestMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Switch>
      <Route path="/login" component={Login} />
      <Route>
        <Shell>
          <PageGuard address={location}>
            <Suspense fallback={<Loading what="the page" />}>
              <Switch>
                <Route path="/" component={Flow} />
                <Route path="/extraction/*?" component={Extraction} />
                <Route path="/models/*?" component={Models} />
                <Route path="/organizations/*?" component={Organizations} />
                <Route path="/knowledge/*?" component={Knowledge} />
                <Route path="/ledger/*?" component={Ledger} />
                <Route path="/index.html">
                  <Redirect to="/" />
                </Route>
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </PageGuard>
        </Shell>
      </Route>
    </Switch>
  );
}

// The layout around every page: navigation, key and session, and the page itself. The code of a page loads on first use.
import { type ComponentType, Fragment, useLayoutEffect } from 'preact/compat'
import { DemoBanner } from './parts/demo.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { KeyButton } from './parts/key-button.tsx'
import { lazyComponent } from './parts/lazy.tsx'
import { PageNotLoaded } from './parts/page-not-loaded.tsx'
import { Rail } from './parts/rail.tsx'
import { SignInHelp } from './parts/sign-in-help.tsx'
import { ThemeButton } from './parts/theme-button.tsx'
import { useHeading } from './parts/use-heading.ts'
import { hrefOf, type PageName, type PageProps, type PageRoute, pageNames, useRoute } from './route.ts'
import { useConsoleContext } from './session.tsx'
import { titleOf } from './titles.ts'

type Page = ComponentType<PageProps>

interface PageEntry {
  readonly title: string
  readonly Page: Page
  /** Not in the navigation. */
  readonly isHidden?: true
  /** Keep the page mounted, with its form fields, when only the rest of its address changes. */
  readonly keepsState?: true
}

const lazyPage = (title: string, load: () => Promise<Page>): PageEntry => ({
  title,
  Page: lazyComponent({ load, waiting: <p className="busy">Loading…</p>, failed: () => <PageNotLoaded /> }),
})

const pages: Readonly<Record<PageName, PageEntry>> = {
  home: { ...lazyPage('Home', () => import('./pages/home.tsx').then(({ Home }) => Home)), isHidden: true },
  explorer: lazyPage('Explorer', () => import('./pages/explorer.tsx').then(({ Explorer }) => Explorer)),
  fx: { ...lazyPage('FX', () => import('./pages/fx.tsx').then(({ Fx }) => Fx)), keepsState: true },
  validators: lazyPage('Validators', () => import('./pages/validators.tsx').then(({ Validators }) => Validators)),
  markets: lazyPage('Markets', () => import('./pages/markets.tsx').then(({ Markets }) => Markets)),
  overview: lazyPage('Overview', () => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  keys: lazyPage('Keys', () => import('./pages/keys.tsx').then(({ Keys }) => Keys)),
  'sign-in': {
    ...lazyPage('Sign in', () => import('./pages/sign-in.tsx').then(({ SignIn }) => SignIn)),
    isHidden: true,
  },
  'not-found': {
    ...lazyPage('Page not found', () => import('./pages/not-found.tsx').then(({ NotFound }) => NotFound)),
    isHidden: true,
  },
}

/** The pages from here on are for the operator. */
const firstOfOperator: PageName = 'overview'
const watchListPath = 'mine'

/** The links of the menu. The watch list is part of the validators page, but has a link of its own. */
function navigationOf({ page, parts }: PageRoute) {
  const isWatchList = page === 'validators' && parts[0] === watchListPath
  return pageNames
    .filter((name) => !pages[name].isHidden)
    .flatMap((name) => {
      const isCurrent = page === name && !isWatchList
      const link = { title: pages[name].title, href: hrefOf(name), isCurrent, isApart: name === firstOfOperator }
      if (name !== 'validators') return [link]
      const href = hrefOf(name, [watchListPath])
      return [link, { title: 'My validators', href, isCurrent: isWatchList, isApart: false }]
    })
}

export function App() {
  const route = useRoute()
  const { title, Page, keepsState } = pages[route.page]
  const path = [route.page, ...route.parts].join('/')
  const pageKey = keepsState ? route.page : path
  const documentTitle = titleOf(route, title)
  // Before the effects of the page, which may name its item.
  useLayoutEffect(() => {
    document.title = documentTitle
  }, [documentTitle])
  useHeading(pageKey)
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Rail path={path} isHome={route.page === 'home'}>
        <nav aria-label="Pages">
          {navigationOf(route).map(({ title: label, href, isCurrent, isApart }) => (
            <Fragment key={href}>
              {isApart && (
                <>
                  <a href="/docs/">Documentation</a>
                  <span className="apart">Operator</span>
                </>
              )}
              <a href={href} aria-current={isCurrent ? 'page' : undefined}>
                {label}
              </a>
            </Fragment>
          ))}
        </nav>
        <div className="foot">
          <SessionStatus />
          <ThemeButton />
        </div>
      </Rail>
      <main id="main" tabIndex={-1}>
        <DemoBanner />
        <SessionEndedNotice />
        <ErrorBoundary path={path}>
          <Page key={pageKey} route={route} />
        </ErrorBoundary>
      </main>
    </div>
  )
}

function SessionStatus() {
  const { session, signOut } = useConsoleContext()
  return (
    <>
      {session.signedIn && (
        <span className="soft">
          Operator{' '}
          <button type="button" className="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        </span>
      )}
      <KeyButton />
    </>
  )
}

function SessionEndedNotice() {
  const { hasEnded } = useConsoleContext()
  if (!hasEnded) return null
  return (
    <div role="alert" className="note warn">
      Your session has ended: it expired, or someone signed out all sessions. <SignInHelp />
    </div>
  )
}

// Builds the dashboard into web/dist; `npm run build` puts it into the package. In development it calls a server
// on the usual port.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // The policy allows scripts from files only, and no styles or images made of data but the icon.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    rollupOptions: {
      output: {
        // The graph is drawn on one page only.
        manualChunks: (id) => (/node_modules\/(sigma|graphology)/.test(id) ? 'graph' : undefined),
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8420', '/deployment': 'http://127.0.0.1:8420' } },
});

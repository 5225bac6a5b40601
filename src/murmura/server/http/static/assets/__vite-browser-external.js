import { t as __commonJSMin } from "./app.js";
// __vite-browser-external
var require___vite_browser_external = __commonJSMin(((exports, module) => {
	module.exports = {};
}));
export default require___vite_browser_external();

package com.example.interop;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONArray;
import com.alibaba.fastjson2.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.config.configcenter.ConfigChangeType;
import org.apache.dubbo.common.config.configcenter.ConfigChangedEvent;
import org.apache.dubbo.common.config.configcenter.ConfigurationListener;
import org.apache.dubbo.common.logger.Level;
import org.apache.dubbo.common.logger.LoggerFactory;
import org.apache.dubbo.common.utils.Holder;
import org.apache.dubbo.common.utils.NetUtils;
import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.Result;
import org.apache.dubbo.rpc.RpcInvocation;
import org.apache.dubbo.rpc.cluster.Configurator;
import org.apache.dubbo.rpc.cluster.configurator.parser.ConfigParser;
import org.apache.dubbo.rpc.cluster.router.affinity.config.AffinityServiceStateRouter;
import org.apache.dubbo.rpc.cluster.router.condition.config.AppStateRouter;
import org.apache.dubbo.rpc.cluster.router.condition.config.ProviderAppStateRouter;
import org.apache.dubbo.rpc.cluster.router.condition.config.ServiceStateRouter;
import org.apache.dubbo.rpc.cluster.router.state.BitList;
import org.apache.dubbo.rpc.cluster.router.state.StateRouter;
import org.apache.dubbo.rpc.cluster.router.tag.TagStateRouter;
import org.apache.dubbo.rpc.support.RpcUtils;

/**
 * Applies rules to endpoints with the routers of Dubbo. Each line of the input is a case, and each line of the output the
 * sets of endpoints that calls of the case may get, as positions in its list. A case with a `router` is for that one alone.
 */
public final class RuleCases {
    /** The default of timeouts and retries, which no case sets. */
    private static final int NONE = Integer.MAX_VALUE;

    private RuleCases() {}

    public static void main(String[] args) throws Exception {
        PrintStream output = System.out;
        // Dubbo prints to the standard output, and a line for each rule and each empty result.
        System.setOut(System.err);
        LoggerFactory.setLevel(Level.OFF);
        java.util.logging.LogManager.getLogManager().reset();
        // The address of the consumer.
        java.lang.reflect.Field own = NetUtils.class.getDeclaredField("HOST_ADDRESS");
        own.setAccessible(true);
        own.set(null, "10.0.0.1");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            output.println(JSON.toJSONString(answer(JSON.parseObject(line))));
        }
        output.flush();
        Runtime.getRuntime().halt(0);
    }

    private static List<String> answer(JSONObject one) {
        if (one.containsKey("subject")) return configure(one);
        URL consumer = URL.valueOf(one.getString("consumer"));
        List<Invoker<Object>> invokers = new ArrayList<>();
        for (Object url : one.getJSONArray("providers")) {
            invokers.add(new Endpoint(URL.valueOf((String) url)));
        }
        BitList<Invoker<Object>> all = new BitList<>(invokers);
        List<StateRouter<Object>> routers = List.of(
                new TagStateRouter<>(consumer),
                new AffinityServiceStateRouter<>(consumer),
                // AffinityProviderAppStateRouter of 3.3.6 reads condition rules, by a mistake in its superclass.
                new AffinityServiceStateRouter<>(consumer),
                new ServiceStateRouter<>(consumer),
                new ProviderAppStateRouter<>(consumer),
                new AppStateRouter<>(consumer));
        JSONArray texts = one.getJSONArray("texts");
        if (one.containsKey("router")) {
            int router = one.getIntValue("router");
            routers = routers.subList(router, router + 1);
            texts = JSONArray.of(texts.get(router));
        }
        for (int index = 0; index < routers.size(); index++) {
            routers.get(index).notify(all);
            for (Object text : texts.getJSONArray(index)) {
                ConfigurationListener listener = (ConfigurationListener) routers.get(index);
                listener.process(new ConfigChangedEvent("key", "dubbo", (String) text, ConfigChangeType.MODIFIED));
            }
        }
        JSONObject call = one.getJSONObject("call");
        TreeSet<String> results = new TreeSet<>();
        for (int run = 0; run < one.getIntValue("runs"); run++) {
            RpcInvocation invocation = new RpcInvocation();
            invocation.setMethodName(call.getString("method"));
            invocation.setArguments(new Object[0]);
            JSONObject attachments = call.getJSONObject("attachments");
            attachments.forEach((name, value) -> invocation.setAttachment(name, (String) value));
            BitList<Invoker<Object>> left = all.clone();
            for (StateRouter<Object> router : routers) {
                if (!left.isEmpty()) left = router.route(left, consumer, invocation, false, new Holder<>());
            }
            StringBuilder positions = new StringBuilder();
            for (int index = 0; index < invokers.size(); index++) {
                if (left.contains(invokers.get(index))) positions.append(positions.length() == 0 ? "" : ",").append(index);
            }
            results.add(positions.toString());
        }
        return new ArrayList<>(results);
    }

    /** Applies dynamic configuration, the one of the application first. Returns the parameters that it may set. */
    private static List<String> configure(JSONObject one) {
        URL url = URL.valueOf(one.getString("subject"));
        for (Object text : one.getJSONArray("texts")) {
            List<URL> overrides = ConfigParser.parseConfigurators((String) text);
            for (Configurator each : Configurator.toConfigurators(overrides).orElse(List.of())) url = each.configure(url);
        }
        List<String> values = new ArrayList<>();
        for (Object name : one.getJSONArray("names")) values.add(url.getParameter((String) name));
        for (Object method : one.getJSONArray("methods")) {
            String name = (String) method;
            // As TripleInvoker and FailoverClusterInvoker compute them.
            values.add(String.valueOf(RpcUtils.calculateTimeout(url, new RpcInvocation(), name, NONE)));
            int retries = url.getMethodParameter(name, "retries", NONE);
            values.add(String.valueOf(Math.max(retries, 0)));
        }
        return values;
    }

    /** An endpoint that is never called. */
    private static final class Endpoint implements Invoker<Object> {
        private final URL url;

        Endpoint(URL url) {
            this.url = url;
        }

        @Override
        public Class<Object> getInterface() {
            return Object.class;
        }

        @Override
        public Result invoke(Invocation invocation) {
            throw new UnsupportedOperationException();
        }

        @Override
        public URL getUrl() {
            return url;
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public void destroy() {}
    }
}
